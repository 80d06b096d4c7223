/**
 * What people should know who run a server or an agent. There is one list: the start of a server logs it, `/readyz` and
 * `reprise doctor` repeat it, and agents report theirs when they register. Strangers can read it, so it names no users,
 * projects, paths or addresses.
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
  | 'isolation'
  | 'limits'
  | 'directory'
  | 'registries'
  | 'disk'

/** As an agent reports it, which may know other kinds. */
export interface AgentWarning {
  kind: string
  text: string
}

/** What only the database knows. */
export interface WarningFacts {
  /** Of the database user, as `CREATE ROLE` calls them, without CREATEDB, which gives nothing of others. */
  attributes: string[]
  /** Whether every role of the database's server may connect to the database. */
  openToAllRoles: boolean
  /** Agents without isolation, while not only administrators have tokens. */
  agentsAtRisk: number
  projects: number
  /** By agents that are there, those within servers excepted. */
  reported: (AgentWarning & { agents: number })[]
}

/** @param own of this server's process, its own agent's among them */
export function warningsOf(facts: WarningFacts, own: readonly Warning[]): string[] {
  const { attributes, openToAllRoles, agentsAtRisk, projects } = facts
  const reported = facts.reported.map(({ kind, text, agents }) => ({
    kind,
    text: `${agents === 1 ? 'an agent reports' : `${agents} agents report`}: ${text}`,
  }))
  const all: AgentWarning[] = [
    ...own,
    ...(attributes.length > 0 ? [{ kind: 'database', text: ofUser(attributes) }] : []),
    ...(openToAllRoles ? [{ kind: 'database', text: OPEN_TO_ALL_ROLES }] : []),
    ...(agentsAtRisk > 0 ? [{ kind: 'isolation', text: ofAgentsAtRisk(agentsAtRisk) }] : []),
    ...reported,
  ]
  // A single tenant sends the engine where it may go itself.
  return all.filter(({ kind }) => kind !== 'registries' || projects > 1).map(({ text }) => text)
}

const OPEN_TO_ALL_ROLES =
  "every role of the database's server may connect to this server's database, and listen to what servers tell each other: " +
  'REVOKE CONNECT ON DATABASE … FROM PUBLIC (docs/operation.md)'

function ofUser(attributes: readonly string[]): string {
  if (attributes.includes('SUPERUSER')) {
    return 'the database user of REPRISE_DATABASE_URL is a superuser: give the server one that owns its database alone'
  }
  const without = attributes.map((attribute) => `NO${attribute}`).join(' ')
  return `the database user of REPRISE_DATABASE_URL has ${attributes.join(', ')}, which a server does not need: ALTER ROLE … ${without}`
}

function ofAgentsAtRisk(agents: number): string {
  const which = agents === 1 ? 'an agent runs' : `${agents} agents run`
  return `${which} kernels without isolation (REPRISE_ISOLATION), and not only administrators have tokens: sessions of any project can read what the agent's user can`
}
