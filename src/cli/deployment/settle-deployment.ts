import type { Command } from 'commander'
import {
  type Client,
  type Deployment,
  type DeploymentSummary,
  isOver,
  type SessionSummary,
} from '../../client/node/index.ts'
import type { ClientContext } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { deploymentLine } from './deployment-text.ts'

export interface Waiting {
  wait?: boolean
}

export function waitOption(command: Command): Command {
  return command.option('--wait', 'wait until it is done; standard error shows what it waits for, and why it gives up')
}

/** Number of failed routes in a row, without a healthy one, after which a revision counts as unable to start. */
const FAILURES_MAX = 3
const LINES = 10
/** Number of sessions to search. More than one, because sessions of other routes may have ended since. */
const SESSIONS_LOOKED_AT = 20

class CannotStart extends Error {
  readonly deployment: Deployment

  constructor(deployment: Deployment) {
    super('it cannot start')
    this.deployment = deployment
  }
}

/** Shows the deployment, after it has settled if requested. */
export async function settle(
  context: ClientContext,
  { wait }: Waiting,
  deployment: DeploymentSummary,
  text: (now: DeploymentSummary) => string = deploymentLine,
): Promise<number> {
  const { client, out, signal } = context
  if (!wait) {
    out.show(deployment, () => text(deployment))
    return 0
  }
  let last = ''
  try {
    const done = await client.waitForDeployment(deployment.deploymentId, {
      signal,
      onDeployment(now) {
        const line = deploymentLine(now)
        if (line !== last) out.note(out.notes.style('dim', line))
        last = line
        if (cannotStart(now)) throw new CannotStart(now)
      },
    })
    out.show(done, () => text(done))
    return 0
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error
    await tellWhy(context, error.deployment)
    return exitStatus('FAILED')
  }
}

function cannotStart({ status, failures, revision, routes }: Deployment): boolean {
  if (status === 'DESTROYING' || status === 'DESTROYED' || failures < FAILURES_MAX) return false
  return !routes.edges.some(({ node }) => node.status === 'HEALTHY' && node.revision.number === revision.number)
}

/** Prints how the program of a failed route ended, and its last output. */
async function tellWhy({ client, out, signal }: ClientContext, deployment: Deployment): Promise<void> {
  const { name, revision, failures } = deployment
  const failed = await lastEnded(client, deployment)
  if (out.json) out.show({ deployment, failed: failed ?? null }, () => '')
  const how = failed === undefined ? '' : `; the last ${endOf(failed)}`
  out.note(
    `${out.notes.style('red', 'error')}: revision ${revision.number} of ${name} cannot start: ${failures} routes in a row failed${how}`,
  )
  if (failed) {
    let written = ''
    for await (const { text } of client.writtenLogs(failed.sessionId, { signal, tail: LINES })) written += text
    const lines = written.split('\n').filter((line) => line !== '')
    for (const line of lines.slice(-LINES)) out.note(`${out.notes.style('dim', '  |')} ${line}`)
    out.note(`  \`reprise logs ${failed.sessionId}\` shows all its output.`)
  }
  out.note('  The server keeps trying at longer and longer intervals:')
  out.note(
    `  \`reprise deployments update ${name}\` creates another revision, \`reprise deployments destroy ${name}\` destroys it.`,
  )
}

async function lastEnded(
  client: Client,
  { deploymentId, name, project, revision }: Deployment,
): Promise<SessionSummary | undefined> {
  const { nodes } = await client.sessionPage({
    filter: {
      name: { equals: name },
      project: project.name,
      sessionType: ['INFERENCE'],
      createdAt: { gte: revision.createdAt },
    },
    first: SESSIONS_LOOKED_AT,
  })
  return nodes.find((session) => isOver(session) && session.creationId.startsWith(`${deploymentId}:`))
}

function endOf({ exitCode, statusReason }: SessionSummary): string {
  const why = statusReason === null || statusReason === `exited with ${exitCode}` ? '' : ` (${statusReason})`
  return exitCode === null ? `ended without an exit code${why}` : `exited with ${exitCode}${why}`
}
