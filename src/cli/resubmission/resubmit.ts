import type { Command } from 'commander'
import type { ResubmissionOverrides, Resubmission, ResubmitSessionsInput } from '../../client/node/index.ts'
import { act, describedCommand, type ClientContext } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { addFilterOptions, readFilter, type FilterOptions } from '../options/filter-options.ts'
import { addPolicyOptions, readPolicy, type PolicyOptions } from '../options/policy-options.ts'
import { addAgentOptions, addSpecOptions, agentLists, named, secretsOf, slotsOf } from '../options/session-options.ts'
import type { AgentOptions, SpecOptions } from '../options/session-options.ts'
import { progressBar } from '../output/progress-bar.ts'
import { UsageError } from '../present-error.ts'
import { findSession, SESSION_ARGUMENT } from '../session/find-session.ts'
import { takeAll } from '../session/take.ts'

interface ResubmitOptions extends FilterOptions, SpecOptions, AgentOptions, PolicyOptions {
  clientKey?: string
  includeSucceeded?: true
  detach?: boolean
}

export function resubmitCommand(): Command {
  const command = describedCommand(
    'resubmit',
    'give failed work a new retry budget: named sessions, or all that match',
    [
      'reprise resubmit nightly --mem 8g --retries 5',
      'reprise resubmit --cause oom-killed --phase exhausted --since 1d --mem 16g',
      'reprise resubmit --with-label study=7 --result failure --client-key study-7-again',
      'reprise resubmit nightly --include-succeeded',
    ],
  ).argument('[sessions...]', SESSION_ARGUMENT)
  addFilterOptions(command)
  command.optionsGroup('Overrides:')
  addPolicyOptions(addAgentOptions(addSpecOptions(command)))
  command
    .optionsGroup('Execution:')
    .option('--include-succeeded', 'also run again what has succeeded')
    .option('--client-key <key>', 'repeating the key returns the same resubmission')
    .option('--detach', 'do not wait for a large resubmission; `reprise resubmissions` shows its progress')
  return act<ResubmitOptions>(command, resubmit, { endsItself: true })
}

async function resubmit(context: ClientContext, options: ResubmitOptions, names: string[]): Promise<number> {
  const { client, out } = context
  const filter = readFilter(options)
  if ((names.length === 0) === (filter === undefined)) {
    throw new UsageError('Name sessions, or say which with options like --cause: one of the two.')
  }
  const sessionIds = names.length === 0 ? undefined : await Promise.all(names.map((name) => findSession(client, name)))
  const { clientKey, includeSucceeded } = options
  const overrides = overridesOf(options)
  const input: ResubmitSessionsInput = { sessionIds, filter, clientKey, overrides, includeSucceeded }
  const made = await client.resubmitSessions(input)
  const { resubmissionId, state } = made.resubmission
  if (state === 'RUNNING' && !options.detach) {
    const end = await waitForEnd(context, made.resubmission)
    const items = client.resubmissionItems(resubmissionId, { status: 'REFUSED' })
    const refused = (await takeAll(items)).map(({ sessionId, code, message }) => ({ sessionId, code, message }))
    return tell(context, { resubmission: end, sessions: [], refused })
  }
  if (state === 'RUNNING') out.note(`${made.resubmission.total} sessions go on in the background`)
  return tell(context, made)
}

function overridesOf(options: ResubmitOptions): ResubmissionOverrides | undefined {
  const overrides: ResubmissionOverrides = {
    resourceSlots: slotsOf(options),
    environ: named(options.env),
    secretEnviron: secretsOf(options),
    batchTimeout: options.timeout,
    priority: options.priority,
    resourceGroup: options.resourceGroup,
    ...agentLists(options),
    retryPolicy: readPolicy(options),
  }
  return Object.values(overrides).some((value) => value !== undefined) ? overrides : undefined
}

/** Ctrl-C aborts what is not yet resubmitted. */
async function waitForEnd({ client, out, signal }: ClientContext, { resubmissionId }: Resubmission) {
  out.note(`resubmission ${resubmissionId}; Ctrl-C leaves the rest undone`)
  const bar = progressBar('resubmitting')
  const onResubmission = ({ total, pending, refusedCount }: Resubmission) =>
    bar.update(total - pending, total, refusedCount > 0 ? `${refusedCount} refused` : '')
  try {
    return await client.waitForResubmission(resubmissionId, { signal, onResubmission })
  } catch (error) {
    if (!signal.aborted) throw error
    await client.abortResubmission(resubmissionId)
    return await client.resubmission(resubmissionId)
  } finally {
    bar.end()
  }
}

function tell(
  { out, signal }: ClientContext,
  made: {
    resubmission: Resubmission
    sessions: readonly { sessionId: string; name: string; attempt: number }[]
    refused: readonly { sessionId: string; code: string | null; message: string | null }[]
  },
): number {
  const { done, total, state } = made.resubmission
  out.show(made, () => {
    const lines = made.sessions.map(({ sessionId, name, attempt }) => `${sessionId}  ${name}  attempt ${attempt}`)
    return [
      ...lines,
      `${done} of ${total} sessions resubmitted${state === 'ABORTED' ? ', the rest left undone' : ''}`,
    ].join('\n')
  })
  for (const { sessionId, code, message } of made.refused) out.note(`refused ${sessionId}: ${message} (${code})`)
  if (signal.aborted) return exitStatus('INTERRUPTED')
  return made.refused.length > 0 && done === 0 ? exitStatus('CONFLICT') : 0
}
