import type { Command } from 'commander'
import type {
  Attempt,
  ChainFilter,
  ChainOrder,
  ChainOrderField,
  ChainState,
  Client,
  FailureCause,
  HoldReason,
  SessionType,
} from '../client/node/index.ts'
import { act, describedCommand, showFirst, takeAll } from './client-command.ts'
import { choice, choices, future, past, wholeNumber, wholeNumbers } from './options/values.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'
import { statusStyle, type Terminal } from './output/terminal.ts'
import type { Output } from './output/output.ts'
import { binaryBytes, duration, instant, relative } from './output/format.ts'
import { findAgent, findSession, SESSION_ARGUMENT } from './find.ts'
import { findUser } from './options/find-in-options.ts'
import { outcomeOf, ranFor, statusWord, formatUsage, whyRetried } from './session/session-text.ts'

interface ChainsOptions {
  state?: ChainState[]
  ofType?: SessionType[]
  timedOut?: boolean
  cause?: FailureCause[]
  holdReason?: HoldReason[]
  exitCode?: number[]
  search?: string
  ofUser?: string
  mine?: boolean
  inGroup?: string
  onAgent?: string
  inProject?: string
  since?: string
  dueBefore?: string
  orderBy?: ChainOrderField
  descending?: boolean
  limit?: number
  counts?: boolean
}

const LIMIT = 50

const CHAIN_STATES = API_ENUMS.ChainState.filter((state) => state !== 'LIVE')

export function chainsCommand(): Command {
  const command = describedCommand('chains', 'list chains, one line for each piece of work, latest activity first', [
    'reprise chains --state waiting-retry,held --order-by due-at',
    'reprise chains --state queued,impossible',
    'reprise chains --search nightly --since 1d',
    'reprise chains --in-group default --counts',
  ])
    .addOption(choices('--state <states>', 'in one of these states', CHAIN_STATES))
    .addOption(choices('--cause <causes>', 'with a latest failure of one of these causes', API_ENUMS.FailureCause))
    .addOption(
      choices('--hold-reason <reasons>', 'with a retry that is held for one of these reasons', API_ENUMS.HoldReason),
    )
    .option('--exit-code <codes>', 'with a newest attempt that ended with one of these', wholeNumbers)
    .option('--timed-out', 'with a newest attempt that was ended by its batch timeout')
    .addOption(
      choices(
        '--of-type <types>',
        'of one of these types (default: batch, interactive); `inference`: replicas of deployments',
        API_ENUMS.SessionType,
      ),
    )
    .option('--search <words>', 'beginnings of words in names and labels')
    .option('--of-user <user>', 'of this user')
    .option('--mine', 'of the user of the token in use')
    .option('--in-group <group>', 'in this resource group')
    .option('--on-agent <agent>', 'with a kernel that is or was on this agent')
    .option('--in-project <project>', 'in this project')
    .option('--since <time>', 'active since this time, or a duration ago like 2h', past)
    .option('--due-before <time>', 'with a retry that is due before this time, or within a duration like 2h', future)
    .addOption(choice('--order-by <order>', 'field to order by', API_ENUMS.ChainOrderField))
    .option('--descending', 'reverse the order of `--order-by`')
    .option('--limit <n>', `maximum number; 0 means all (default: ${LIMIT})`, wholeNumber)
    .option('--counts', 'show the number of chains in each state instead of the list')
  return act<ChainsOptions>(command, async ({ client, out, signal }, options) => {
    const { orderBy: field, descending = false, limit = LIMIT } = options
    const { onAgent } = options
    const filter = filterOf({
      ...options,
      onAgent: onAgent && (await findAgent(client, onAgent)),
      ofUser: await findUser(client, options),
    })
    if (options.counts) return showCounts(await client.chainCounts({ filter }, { signal }), out)
    const orderBy: ChainOrder | undefined = field && { field, direction: descending ? 'DESC' : 'ASC' }
    const chains = client.chains({ filter, orderBy }, { signal })
    await showFirst(
      out,
      { limit, of: chains },
      [
        { title: 'CHAIN', value: ({ chainId }) => chainId, id: true },
        { title: 'NAME', value: ({ name }) => name, flexible: true },
        { title: 'STATE', value: (row) => row.state, style: (row) => statusStyle(row.state), kept: true },
        { title: 'ATTEMPTS', value: ({ attempts }) => attempts, align: 'right' },
        { title: 'ACTIVE', value: ({ newestActivityAt }) => relative(newestActivityAt), align: 'right' },
        { title: 'RAN', value: ({ runningSeconds }) => duration(runningSeconds), align: 'right' },
        { title: 'OUTLOOK', value: ({ outlook }) => outlook.reason, flexible: true },
      ],
      'no chains',
    )
  })
}

function filterOf(options: ChainsOptions): ChainFilter {
  const { state, cause, holdReason, exitCode, search, ofUser, inGroup, onAgent, inProject, since, dueBefore } = options
  const { timedOut, ofType = onAgent === undefined ? (['BATCH', 'INTERACTIVE'] as const) : undefined } = options
  return {
    state,
    sessionType: ofType && [...ofType],
    timedOut,
    cause,
    holdReason,
    exitCode,
    search,
    user: ofUser,
    resourceGroup: inGroup,
    agent: onAgent,
    project: inProject,
    activityAt: since ? { gte: since } : undefined,
    dueAt: dueBefore ? { lt: dueBefore } : undefined,
  }
}

function showCounts(counts: Awaited<ReturnType<Client['chainCounts']>>, out: Output): Promise<void> {
  return out.table(
    counts,
    [
      { title: 'STATE', value: ({ state }) => state, style: ({ state }) => statusStyle(state) },
      { title: 'CHAINS', value: ({ count, isExact }) => (isExact ? count : `more than ${count}`), align: 'right' },
    ],
    'no chains',
  )
}

/** Shows the segments of a chain's time. One that lasts is counted up to now. */
async function showTimeline(client: Client, out: Output, sessionId: string, signal: AbortSignal): Promise<void> {
  const items = await takeAll(client.chainTimeline(sessionId, { signal }))
  const spent = ({ kind, from, to }: (typeof items)[number]) =>
    kind === 'PLANNED'
      ? relative(from)
      : duration((Date.parse(to ?? new Date().toISOString()) - Date.parse(from)) / 1_000)
  await out.table(
    items,
    [
      { title: 'ATTEMPT', value: ({ attempt }) => attempt, align: 'right' },
      { title: 'KIND', value: ({ kind }) => kind },
      { title: 'FROM', value: ({ from }) => instant(from) },
      { title: 'FOR', value: spent, align: 'right' },
      { title: 'REASON', value: ({ reason, cause }) => reason ?? cause, flexible: true },
    ],
    'nothing',
  )
}

export function chainCommand(): Command {
  const command = describedCommand('chain', 'draw the chain of a session: each attempt, and why it was retried', [
    'reprise chain nightly',
    'reprise chain nightly --timeline',
  ])
    .argument('<session>', SESSION_ARGUMENT)
    .option('--timeline', 'show how its time was spent: queues, runs, backoff, holds')
  return act<{ timeline?: boolean }>(command, async ({ client, out, signal }, { timeline }, [text]) => {
    const sessionId = await findSession(client, text!)
    if (timeline) return showTimeline(client, out, sessionId, signal)
    const attempts = await client.chain(sessionId)
    out.show(attempts, () => drawChain(attempts, sessionId, out.terminal))
  })
}

/**
 * Draws all attempts, each below its parent, with the checkpoint that it continued from, and the reasons for the
 * retries in between.
 */
export function drawChain(attempts: readonly Attempt[], here: string, terminal: Terminal): string {
  return attempts
    .map((attempt, index) => {
      const last = index === attempts.length - 1
      const word = statusWord(attempt)
      const style = statusStyle(word)
      const status = style ? terminal.style(style, word) : word
      const origin = attempt.origin === 'RESUBMISSION' ? '(resubmitted)' : ''
      const used = attempt.usage && formatUsage(attempt.usage)
      const parts = [
        `${last ? '└─' : '├─'} ${attempt.attempt}`,
        attempt.sessionId,
        status,
        outcomeOf(attempt),
        attempt.startedAt ? `ran ${ranFor(attempt)}${used === null ? '' : ` (${used})`}` : '',
        origin,
        attempt.sessionId === here ? '← this session' : '',
      ]
      const why = whyRetried(attempt)
      const { phase, dueAt } = attempt.retryState
      const when = phase === 'SCHEDULED' && dueAt ? ` (${relative(dueAt)})` : ''
      const stem = last ? '   ' : '│  '
      const below = [
        checkpointWords(attempt),
        why === null ? null : `${phase === 'HELD' ? '' : `${phase}: `}${why}${when}`,
      ]
      return [
        parts.filter(Boolean).join('  '),
        ...below.flatMap((words) => (words === null ? [] : [`${stem}  ${terminal.style('dim', words)}`])),
      ].join('\n')
    })
    .join('\n')
}

function checkpointWords({ checkpoint: { state, fromAttempt, bytes, publishedAt, note } }: Attempt): string | null {
  if (state === 'NONE') return null
  if (state === 'MISSING') return note
  if (fromAttempt === null) return 'continued from a checkpoint'
  const size = bytes === null ? '' : ` (${binaryBytes(bytes)})`
  const when = publishedAt === null ? '' : `, of ${instant(publishedAt)}`
  return `continued from the checkpoint of attempt ${fromAttempt}${size}${when}`
}
