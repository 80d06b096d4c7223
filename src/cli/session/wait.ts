import type { Command } from 'commander'
import { type EndedChain, NotFoundError } from '../../client/node/index.ts'
import { act, type ClientContext, describedCommand, takeAll } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { findChain, SESSION_ARGUMENT } from '../find.ts'
import { addFilterOptions, type FilterOptions, readFilter } from '../options/filter-options.ts'
import { findFilter } from '../options/find-in-options.ts'
import { seconds } from '../options/values.ts'
import { duration } from '../output/format.ts'
import { type Output, progressBar } from '../output/output.ts'
import { statusStyle } from '../output/terminal.ts'
import { UsageError } from '../present-error.ts'
import { awaitGroup, groupNamed } from './groups.ts'
import { awaitOutputs } from './outputs.ts'
import { outcomeOf, worksStatus } from './session-text.ts'

interface WaitOptions extends FilterOptions {
  any?: true
  outputs?: true
  timeout?: number
}

export function waitCommand(): Command {
  const command = describedCommand(
    'wait',
    'wait until the work of sessions has ended, through all attempts, and exit with its status',
    [
      'reprise wait nightly',
      'reprise wait nightly report --timeout 12h    # 0 if both succeed, 1 if not, 124 after 12 hours',
      'reprise wait sweep    # a group, by its key, name or id',
      'reprise wait --label study=7',
      "reprise wait --any --with-name 'sim-*'    # until the first of them ends, with its status",
      'id=$(reprise create -- ~/work.sh) && reprise wait $id',
    ],
  ).argument('[sessions...]', SESSION_ARGUMENT)
  addFilterOptions(command)
    .optionsGroup('Execution:')
    .option('--any', 'wait only until the first one ends')
    .option('--outputs', 'wait for their outputs, too; 1 if some are missing')
    .option('--timeout <duration>', 'stop waiting after this time, with exit status 124; 0 looks only once', seconds)
  return act<WaitOptions>(
    command,
    async (context, options, names) => {
      const { any, timeout, outputs } = options
      const group = names.length === 1 ? await groupNamed(context.client, names[0]!) : undefined
      if (group) return awaitGroup(context, group.groupId, { timeout })
      const ended = await waitForEnds(context, {
        chainIds: () => selectedChains(context, options, names),
        timeout,
        any,
        words: { ended: 'ended', open: 'not ended yet; the work continues', failed: 'did not succeed' },
        onOpen: (open, total) => context.out.note(total === 1 ? 'waiting' : `waiting for ${open} of ${total} chains`),
        onEnd: (chain) => printEnded(context.out, chain),
      })
      if (ended === null) return exitStatus('TIMED_OUT')
      const status = worksStatus(ended.map(({ last }) => last))
      if (outputs !== true || status !== 0) return status
      return Math.max(...(await Promise.all(ended.map(({ last }) => awaitOutputs(context, last.sessionId)))))
    },
    { follow: true },
  )
}

/**
 * Finds the chains of the named sessions, or of those that match now. @throws UsageError unless exactly one of both is
 * given; NotFoundError
 */
async function selectedChains(
  { client, signal }: ClientContext,
  options: FilterOptions,
  names: readonly string[],
): Promise<string[]> {
  const filtered = readFilter(options) !== undefined
  if ((names.length === 0) === !filtered) {
    throw new UsageError('Either name sessions, or select them with options like --label.')
  }
  if (!filtered) return Promise.all(names.map((name) => findChain(client, name)))
  const filter = await findFilter(client, options)
  const sessions = await takeAll(client.sessions({ filter }, { signal }))
  if (sessions.length === 0) throw new NotFoundError('SESSION_NOT_FOUND', 'No session matches.')
  return [...new Set(sessions.map(({ chainId }) => chainId))]
}

interface Waiting {
  /** Finds the chains. Its time counts, too. */
  chainIds: () => Promise<readonly string[]>
  /** Cursor of the events from before the chains could end; the default is now. */
  after?: string | undefined
  /** In seconds; 0 looks only once. */
  timeout: number | undefined
  /** Waits only for the first end. */
  any?: boolean | undefined
  /** Words for chains that have ended, and, if it stops waiting, for the others. */
  words: { ended: string; open: string; failed?: string }
  /** Called once those that had ended before were reported, with the number of the others. */
  onOpen?: (open: number, total: number) => void
  onEnd?: (chain: EndedChain) => void
}

/**
 * Waits until the chains have ended, over restarts of the server; returns them, or null if the time was over before.
 * Ctrl-C ends it with an error.
 */
export async function waitForEnds(
  { client, out, signal }: ClientContext,
  { chainIds: find, after, timeout, any = false, words, onOpen, onEnd }: Waiting,
): Promise<EndedChain[] | null> {
  const limit = startLimit(timeout || undefined, () => void client.close())
  const bar = progressBar(words.ended)
  const ended: EndedChain[] = []
  let total: number | undefined
  const show = () => {
    const failed = words.failed === undefined ? 0 : ended.filter(({ state }) => state !== 'SUCCEEDED').length
    bar.update(ended.length, total!, failed > 0 ? `${failed} ${words.failed}` : '')
  }
  const opened = (open: number) => {
    if (timeout === 0) return limit.expire()
    onOpen?.(open, total!)
    show()
  }
  try {
    const chainIds = new Set(await find())
    total = chainIds.size
    for await (const chain of client.chainEnds([...chainIds], { after, signal, onOpen: opened })) {
      ended.push(chain)
      bar.end()
      onEnd?.(chain)
      if (any) break
      if (ended.length < total && !limit.expired) show()
    }
    return ended
  } catch (error) {
    if (!limit.expired && !signal.aborted) throw error
    bar.end()
    const open = total === undefined || total === 1 ? '' : `${total - ended.length} of ${total} `
    out.note(`${open}${words.open}`)
    if (limit.expired) return null
    throw error
  } finally {
    bar.end()
    limit.stop()
  }
}

/** The longest delay of a timer; a longer one would pass at once. */
const TIMER_MAX_MS = 2 ** 31 - 1

/** Calls `onExpired` after the time, if there is one, unless it is stopped before. */
function startLimit(timeout: number | undefined, onExpired: () => void) {
  let timer: NodeJS.Timeout | undefined
  const limit = {
    expired: false,
    expire(): void {
      limit.expired = true
      onExpired()
    },
    stop: () => clearTimeout(timer),
  }
  const begin = (ms: number) => {
    const pause = Math.min(ms, TIMER_MAX_MS)
    timer = setTimeout(() => (ms > pause ? begin(ms - pause) : limit.expire()), pause).unref()
  }
  if (timeout !== undefined) begin(timeout * 1_000)
  return limit
}

function printEnded(out: Output, ended: EndedChain): void {
  const { sessionId, exitCode } = ended.last
  out.item({ type: 'ended', sessionId, exitCode, ...ended }, () => endedLine(out, ended))
}

/** Formats `nightly ID: FAILED after 3 attempts: exit code 1; ran 4 s`. */
function endedLine({ terminal }: Output, { name, state, attempts, runningSeconds, last }: EndedChain): string {
  const style = statusStyle(state)
  const word = style ? terminal.style(style, state) : state
  const after = attempts > 1 ? ` after ${attempts} attempts` : ''
  const outcome = state === 'SUCCEEDED' ? '' : `: ${outcomeOf(last)}`
  const ran = runningSeconds ? `; ran ${duration(runningSeconds)}` : ''
  return `${name} ${last.sessionId}: ${word}${after}${outcome}${ran}`
}
