import { FAILURE_GROUPS_PER_DAY_MAX } from './limits.ts'

/**
 * A warning for the operators of a server or an agent. All warnings form one list: a server logs it at start, `/readyz`
 * and `reprise doctor` repeat it, and agents report theirs when they register. Anybody can read it, so it names no
 * users, projects, paths or addresses.
 */
export interface Warning {
  kind: WarningKind
  text: string
}

export type WarningKind =
  | 'configuration'
  | 'transport'
  | 'interface'
  | 'database'
  | 'gpus'
  | 'isolation'
  | 'limits'
  | 'directory'
  | 'registries'
  | 'disk'
  | 'failures'

/** A warning as an agent reports it; its kind may be unknown here. */
export interface AgentWarning {
  kind: string
  text: string
}

/** Facts that only the database has. */
export interface WarningFacts {
  /**
   * Attributes of the database user, in the words of `CREATE ROLE`. CREATEDB is omitted, because it gives no access to data of other users.
   */
  attributes: string[]
  /** Whether every role of the database's server may connect to the database. */
  openToAllRoles: boolean
  /** Number of agents without isolation; counted only if tokens exist that are not administrators'. */
  agentsAtRisk: number
  projects: number
  /** Number of projects that had more new kinds of failures in the last day than get groups of their own. */
  projectsWithTooManyFailures: number
  /** Warnings of living agents, except those inside servers. */
  reported: (AgentWarning & { agents: number })[]
}

/**
 * Builds the list of warnings.
 * @param own the warnings of this server's process, including those of its own agent
 */
export function warningsOf(facts: WarningFacts, own: readonly Warning[]): string[] {
  const { attributes, openToAllRoles, agentsAtRisk, projects, projectsWithTooManyFailures: flooded } = facts
  const reported = facts.reported.map(({ kind, text, agents }) => ({
    kind,
    text: `${agents === 1 ? 'an agent reports' : `${agents} agents report`}: ${text}`,
  }))
  const all: AgentWarning[] = [
    ...own,
    ...(attributes.length > 0 ? [{ kind: 'database', text: describeUserAttributes(attributes) }] : []),
    ...(openToAllRoles ? [{ kind: 'database', text: OPEN_TO_ALL_ROLES }] : []),
    ...(agentsAtRisk > 0 ? [{ kind: 'isolation', text: describeAgentsAtRisk(agentsAtRisk) }] : []),
    ...(flooded > 0 ? [{ kind: 'failures', text: describeFlood(flooded) }] : []),
    ...reported,
  ]
  // With a single project, the container engine contacts only hosts that its tenant may contact anyway.
  return all.filter(({ kind }) => kind !== 'registries' || projects > 1).map(({ text }) => text)
}

const OPEN_TO_ALL_ROLES =
  "every role of the database's server may connect to this server's database, and listen to the messages between servers: " +
  'REVOKE CONNECT ON DATABASE … FROM PUBLIC (docs/operation.md)'

function describeUserAttributes(attributes: readonly string[]): string {
  if (attributes.includes('SUPERUSER')) {
    return 'the database user of REPRISE_DATABASE_URL is a superuser: give the server one that owns its database alone'
  }
  const without = attributes.map((attribute) => `NO${attribute}`).join(' ')
  return `the database user of REPRISE_DATABASE_URL has ${attributes.join(', ')}, which a server does not need: ALTER ROLE … ${without}`
}

function describeFlood(projects: number): string {
  const which = projects === 1 ? 'a project' : `${projects} projects`
  return `${which} had over ${FAILURE_GROUPS_PER_DAY_MAX} new kinds of failures in the last day: the rest share one group. Let programs give a "fingerprint" in their verdict file (docs/retry-policy.md)`
}

function describeAgentsAtRisk(agents: number): string {
  const which = agents === 1 ? 'an agent runs' : `${agents} agents run`
  return `${which} kernels without isolation (REPRISE_ISOLATION), although others than administrators have tokens: sessions of any project can read what the agent's user can`
}
