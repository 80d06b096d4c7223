import type { Command } from 'commander'
import { isOver, type Session, type SessionFilter, type SessionSummary } from '../../client/node/index.ts'
import { act, describedCommand, showFirst, takeAll } from '../client-command.ts'
import { findFilter } from '../options/find-in-options.ts'
import { addFilterOptions, type FilterOptions } from '../options/filter-options.ts'
import { wholeNumber } from '../options/values.ts'
import { statusStyle, type Terminal } from '../output/terminal.ts'
import { type Column, formatFields } from '../output/table.ts'
import { binaryBytes, counted, duration, gpuNeed, instant, mountText, relative, slotList } from '../output/format.ts'
import {
  attemptWords,
  outcomeOf,
  phaseWord,
  ranFor,
  statusWord,
  formatGpuUsage,
  formatUsage,
  whyRetried,
} from './session-text.ts'
import { outputsWords } from './outputs.ts'
import { drawChain } from '../chain.ts'
import { findSession, SESSION_ARGUMENT } from '../find.ts'

const LIMIT = 50

type ListedSession = SessionSummary & Pick<Session, 'usage'>

const SESSION_COLUMNS: readonly Column<ListedSession>[] = [
  { title: 'SESSION', value: ({ sessionId }) => sessionId, id: true },
  { title: 'NAME', value: ({ name }) => name, flexible: true },
  { title: 'STATUS', value: statusWord, style: (row) => statusStyle(statusWord(row)), kept: true },
  { title: 'ATTEMPT', value: (row) => attemptWords(row).replace('attempt ', ''), flexible: true },
  { title: 'RETRY', value: phaseWord, style: (row) => statusStyle(row.retryState.phase) },
  { title: 'OUTCOME', value: outcomeOf, flexible: true, kept: true },
  { title: 'RAN', value: ranFor, align: 'right' },
  { title: 'CREATED', value: ({ createdAt }) => relative(createdAt), align: 'right' },
  { title: 'USER', value: ({ user }) => user, optional: true, flexible: true },
  // Most sessions are in the group `default`, which needs no mention.
  {
    title: 'GROUP',
    value: ({ resourceGroup: { name } }) => (name === 'default' ? null : name),
    optional: true,
    flexible: true,
  },
]

export function listCommand(): Command {
  const command = describedCommand('list', 'list sessions, newest first', [
    'reprise list --status running,pending',
    'reprise list --timed-out --since 1d',
    'reprise list --mine --cause oom-killed --since 2h',
    'reprise list --exit-code 1,137 --reason "No space left"',
    "reprise list --with-name 'nightly*' --limit 500 --json > nightly.json",
  ])
    .alias('ls')
    .alias('sessions')
    .option('--limit <n>', `maximum number; 0 means all (default: ${LIMIT})`, wholeNumber)
  return act<FilterOptions & { limit?: number; reason?: string }>(
    addFilterOptions(command).option('--reason <text>', 'the same as --with-reason'),
    async ({ client, out, signal }, { withReason, reason = withReason, ...options }) => {
      const filter = withoutReplicas(await findFilter(client, { ...options, withReason: reason }))
      const sessions = client.sessions({ filter }, { signal })
      await showFirst(out, { limit: options.limit ?? LIMIT, of: sessions }, SESSION_COLUMNS, 'no sessions')
    },
  )
}

/** Leaves out the replicas of deployments. Does not if the filter names them, or a chain or session that may be one. */
function withoutReplicas(filter: SessionFilter | undefined): SessionFilter {
  const text = JSON.stringify(filter ?? {})
  if (/"(sessionType|chainId|parentSessionId|agent|idPrefix)":/.test(text)) return filter!
  return { ...filter, sessionType: ['BATCH', 'INTERACTIVE'] }
}

export function infoCommand(): Command {
  const command = describedCommand('info', 'show a session: its attempt number, its chain, and why it was retried', [
    'reprise info nightly',
    'reprise info 01990000-0000-7000-8000-000000000000 --json',
  ]).argument('<session>', SESSION_ARGUMENT)
  return act(command, async ({ client, out }, _options, [text]) => {
    const session = await client.session(await findSession(client, text!))
    out.show(session, () => describe(session, out.terminal))
  })
}

function describe(session: Session, terminal: Terminal): string {
  const { resourceSlots, labels, environ, secretEnviron } = session
  const status = statusWord(session)
  const style = statusStyle(status)
  const list = (entries: readonly string[]) => entries.join(', ')
  const fields = formatFields(
    [
      ['session', session.sessionId],
      ['name', session.name],
      ['project', session.project.name],
      ['user', session.user],
      ['attempt', `${attemptWords(session).replace('attempt ', '')}${epochOf(session)}`],
      ['status', `${style ? terminal.style(style, status) : status}  ${outcomeOf(session)}`.trimEnd()],
      ['signal', session.exitSignal && `${session.exitSignal.name} (${session.exitSignal.number})`],
      ['reason', reasonOf(session)],
      ['retry', retryOf(session)],
      ['why', whyRetried(session)],
      ['parent', session.parentSession?.sessionId],
      ['retried for', session.retryCause],
      ['child', session.childSession?.sessionId],
      ['chain', session.chainId],
      ['command', session.command.map(quoted).join(' ')],
      ['image', session.image],
      ['digest', digestOf(session)],
      ['variables', list(environ.map(({ name, value }) => `${name}=${value}`))],
      ['secrets', list(secretEnviron)],
      ['slots', slotList(resourceSlots)],
      ['gpus', gpusOf(session)],
      ['labels', list(labels.map(({ key, value }) => `${key}=${value}`))],
      ['group', session.resourceGroup.name],
      ['executor', list(session.executorOptions.map(({ key, value }) => `${key}=${value}`))],
      ['volumes', list(session.mounts.map(mountText))],
      ['code', session.codeSha256],
      ['key', keyOf(session)],
      ['waits', session.maxPending === null ? null : `at most ${duration(session.maxPending)}`],
      ['kernels', list(session.kernels.map((kernel) => kernelOf(kernel)))],
      ['created', `${instant(session.createdAt)} (${relative(session.createdAt)})`],
      ['ran', session.startedAt ? ranFor(session) : null],
      ['checkpoint', checkpointOf(session)],
      ['outputs', outputsOf(session)],
      ['used', session.usage && formatUsage(session.usage)],
      ['gpus used', session.gpuUsage && formatGpuUsage(session.gpuUsage)],
      ['policy', policyOf(session)],
    ],
    terminal,
  )
  const chain = drawChain(session.retryChain, session.sessionId, terminal)
  return `${fields}\n\n${terminal.style('dim', 'chain')}\n${chain}`
}

function checkpointOf({ checkpoint: { state, fromAttempt, bytes, publishedAt, note } }: Session): string | null {
  if (state === 'NONE') return null
  const size = bytes === null ? '' : `, ${binaryBytes(bytes)}`
  const when = publishedAt === null ? '' : `, of ${instant(publishedAt)}`
  return note ?? `${state} of attempt ${fromAttempt ?? '?'}${size}${when}`
}

function outputsOf({ outputs, sessionId }: Session): string | null {
  if (outputs === null) return null
  const how = outputs.fileCount > 0 ? `: reprise download ${sessionId}` : ''
  return `${[outputsWords(outputs), ...outputs.reasons].join('\n')}${how}`
}

/** Returns the digest of the image that ran or has to run, with a note if the attempt before ran another one. */
function gpusOf({ gpus, requiredGpus }: Session): string | null {
  if (gpus.length > 0) return gpus.map(({ index, name, uuid }) => `${index}: ${name} (${uuid})`).join('\n')
  return requiredGpus && gpuNeed(requiredGpus)
}

function digestOf({ imageDigest, requiredImageDigest, parentSession }: Session): string | null {
  if (imageDigest === null) return requiredImageDigest && `${requiredImageDigest}, as before`
  const before = parentSession?.imageDigest ?? null
  const other = before !== null && before !== imageDigest
  return other ? `${imageDigest}\nthe attempt before ran another image: ${before}` : imageDigest
}

function keyOf({ concurrencyKey: key, concurrencyLimit: limit }: Session): string | null {
  return key === null ? null : `${key}, ${limit} at a time`
}

/** The status has the reason of a timeout already. */
function reasonOf(session: Session): string | null {
  if (session.timedOut) return null
  return isOver(session) ? session.statusReason : session.pendingReason
}

function epochOf({ epoch }: Session): string {
  return epoch === 0 ? '' : `, resubmitted ${epoch === 1 ? 'once' : `${epoch} times`}`
}

function retryOf(session: Session): string | null {
  const { phase, dueAt } = session.retryState
  return phase === 'SCHEDULED' && dueAt ? `SCHEDULED ${relative(dueAt)}, ${instant(dueAt)}` : phaseWord(session)
}

function kernelOf({ role, index, status, agent, host, slurmJobId }: Session['kernels'][number]): string {
  const where = [agent?.name, host && `node ${host}`, slurmJobId && `Slurm job ${slurmJobId}`].filter(Boolean)
  return `${role}${index} ${status}${where.length > 0 ? ` on ${where.join(', ')}` : ''}`
}

function policyOf({ retryPolicy: policy, sessionType }: Session): string {
  if (sessionType !== 'BATCH') return `no retries: ${sessionType} sessions are never retried`
  if (policy.maxRetries === 0) return 'no retries'
  if (policy.delays) {
    const table = policy.delays.map((delay) => duration(delay)).join(', ')
    return `${counted(policy.maxRetries, 'retry', 'retries')} after ${table}${rulesOf(policy)}`
  }
  const growth = policy.backoff === 'FIXED' ? '' : ` × ${policy.backoffMultiplier} each time`
  return `${counted(policy.maxRetries, 'retry', 'retries')} after ${policy.retryDelay} s${growth}${rulesOf(policy)}`
}

function rulesOf({ rules }: Pick<Session['retryPolicy'], 'rules'>): string {
  return rules.length === 0 ? '' : `, ${counted(rules.length, 'rule')}`
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

export function historyCommand(): Command {
  const command = describedCommand('history', 'list the actions of the scheduler on a session, oldest first', [
    'reprise history nightly',
  ]).argument('<session>', SESSION_ARGUMENT)
  return act(command, async ({ client, out, signal }, _options, [text]) => {
    const sessionId = await findSession(client, text!)
    const isWell = (await client.session(sessionId, { signal })).result === 'SUCCESS'
    await out.table(
      await takeAll(client.sessionHistory(sessionId, { signal })),
      [
        { title: 'LAST AT', value: ({ lastAt }) => instant(lastAt) },
        { title: 'TIMES', value: ({ attempts }) => attempts, align: 'right' },
        { title: 'HANDLER', value: ({ handler }) => handler.toLowerCase().replaceAll('_', '-'), flexible: true },
        { title: 'RESULT', value: ({ result }) => result },
        {
          title: 'TO',
          value: ({ toStatus }) => (toStatus === 'TERMINATED' && isWell ? 'SUCCEEDED' : (toStatus ?? '')),
        },
        { title: 'AGENT', value: ({ agents }) => agents.map(({ name }) => name).join(', '), flexible: true },
        { title: 'MESSAGE', value: ({ message, errorCode }) => message ?? errorCode ?? '', flexible: true },
      ],
      'no actions yet',
    )
  })
}
