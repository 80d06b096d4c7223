import type { Command } from 'commander'
import type { ChainFilter, ChainState, Client, FailureCause } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { choices, past, wholeNumber } from '../options/values.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { statusStyle } from '../output/status-style.ts'
import type { Output } from '../output/output.ts'
import { duration, instant, relative } from '../output/time.ts'
import { drawChain } from './draw-chain.ts'
import { findSession, SESSION_ARGUMENT } from '../session/find-session.ts'
import { take, takeAll } from '../session/take.ts'

interface ChainsOptions {
  state?: ChainState[]
  cause?: FailureCause[]
  search?: string
  inProject?: string
  since?: string
  limit?: number
}

const LIMIT = 50

export function chainsCommand(): Command {
  const command = describedCommand('chains', 'list chains, one line per piece of work, the latest activity first', [
    'reprise chains --state waiting-retry,held',
    'reprise chains --search nightly --since 1d',
  ])
    .addOption(choices('--state <states>', 'with one of these', API_ENUMS.ChainState))
    .addOption(
      choices('--cause <causes>', 'whose latest attempt failed for one of these causes', API_ENUMS.FailureCause),
    )
    .option('--search <words>', 'beginnings of words in names and labels')
    .option('--in-project <name>', 'in this project')
    .option('--since <time>', 'active since this time, or a duration ago like 2h', past)
    .option('--limit <n>', `at most so many; 0 is all (default: ${LIMIT})`, wholeNumber)
  return act<ChainsOptions>(command, async ({ client, out, signal }, options) => {
    const { state, cause, search, inProject: project, since, limit = LIMIT } = options
    const filter: ChainFilter = { state, cause, search, project, activityAt: since ? { gte: since } : undefined }
    const { items, more } = await take(client.chains({ filter }, { signal }), limit)
    await out.table(
      items,
      [
        { title: 'CHAIN', value: ({ chainId }) => chainId },
        { title: 'NAME', value: ({ name }) => name, flexible: true },
        { title: 'STATE', value: (row) => row.state, style: (row) => statusStyle(row.state) },
        { title: 'ATTEMPTS', value: ({ attempts }) => attempts, align: 'right' },
        { title: 'ACTIVE', value: ({ newestActivityAt }) => relative(newestActivityAt), align: 'right' },
        { title: 'RAN', value: ({ runningSeconds }) => duration(runningSeconds), align: 'right' },
        { title: 'OUTLOOK', value: ({ outlook }) => outlook.reason, flexible: true },
      ],
      'no chains',
    )
    if (more) out.note(`more than ${items.length}: --limit shows more`)
  })
}

/** Of what lasts, up to now. */
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
    .option('--timeline', 'what its time was spent with: queues, runs, backoff, holds')
  return act<{ timeline?: boolean }>(command, async ({ client, out, signal }, { timeline }, [text]) => {
    const sessionId = await findSession(client, text!)
    if (timeline) return showTimeline(client, out, sessionId, signal)
    const attempts = await client.chain(sessionId)
    out.show(attempts, () => drawChain(attempts, sessionId, out.terminal))
  })
}
