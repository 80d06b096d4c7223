import { endingWords } from '../design/endings.ts'
import { duration, shortDuration } from '../words/duration.ts'
import type { Bar, Ghost, Item, PartKind, SegmentSession } from './bars.ts'

const PARTS: Readonly<Record<PartKind, string>> = {
  QUEUED: 'queued',
  PREPARING: 'prepared',
  RUNNING: 'ran',
  ENDING: 'ended in',
}

const HOLDS: Readonly<Record<string, string>> = {
  DISABLED: 'switched off',
  QUOTA: 'quota',
  RATE_LIMITED: 'rate limit',
  PARENT_ALIVE: 'may still run',
}

const GAPS = { BACKOFF: 'backoff', HELD: 'held', RESUBMISSION_GAP: 'until resubmitted' } as const

/** Under a bar or a gap, the longest first. */
export function textsUnder(item: Item): string[] {
  const length = shortDuration(lengthOf(item))
  if (item.type === 'bar') return [`${endOf(item)} ${length}`, endOf(item), length]
  if (item.kind === 'HELD') return [`held ${length}: ${holdWords(item.holdReason)}`, `held ${length}`, length]
  return item.kind === 'BACKOFF' ? [length] : [`resubmitted after ${length}`, length]
}

/** `exit code 3`, `running`, `queued`. */
export function endOf(bar: Bar): string {
  if (bar.outcome !== 'LIVE') return endingWords(bar)
  const kind = bar.parts.at(-1)!.kind
  return kind === 'RUNNING' ? 'running' : kind === 'QUEUED' ? 'queued' : kind === 'PREPARING' ? 'preparing' : 'ending'
}

export function holdWords(reason: string | null): string {
  return HOLDS[reason ?? ''] ?? 'held'
}

/** `attempt 5, epoch 1, exit code 3, ran 3.4 s, then held 22 s: retries are switched off`. */
export function barSentence(bar: Bar, after: readonly Item[]): string {
  const parts = bar.parts
    .filter(({ from, to }) => to > from)
    .map((part) => `${PARTS[part.kind]} ${duration(lengthOf(part))}`)
  const said = [`attempt ${bar.attempt}`, `epoch ${bar.epoch}`, endOf(bar), ...parts, checkpointWords(bar.session)]
  return [...said.filter((words) => words !== null), ...after.map(gapSentence)].join(', ')
}

/** `went on from attempt 2`; null if there was nothing to go on from. */
export function checkpointWords({
  checkpoint: { state, fromAttempt },
}: Pick<SegmentSession, 'checkpoint'>): string | null {
  const from = fromAttempt === null ? 'an earlier attempt' : `attempt ${fromAttempt}`
  if (state === 'NONE') return null
  if (state === 'MISSING') return `began without the checkpoint of ${from}`
  return `went on from ${from}${state === 'FETCHED' ? ', whose checkpoint was fetched' : ''}`
}

export function gapSentence(item: Item): string {
  if (item.type === 'bar') return ''
  const reason = item.kind === 'HELD' && item.reason ? `: ${item.reason}` : ''
  return `then ${GAPS[item.kind]} ${duration(lengthOf(item))}${reason}`
}

export function ghostSentence(ghost: Ghost, now: number): string {
  if (ghost.isHeld) return `attempt ${ghost.attempt}, planned, is held`
  return `attempt ${ghost.attempt}, planned in ${duration((ghost.at - now) / 1000)}`
}

/** Of several attempts that are drawn as one. */
export function bundleSentence(bars: readonly Bar[]): string {
  const causes = Map.groupBy(bars, endOf)
  const words = [...causes].toSorted(([, a], [, b]) => b.length - a.length).map(([end, all]) => `${all.length} ${end}`)
  return `attempts ${bars[0]!.attempt} to ${bars.at(-1)!.attempt}: ${words.join(', ')}`
}

/** In seconds. */
export function lengthOf({ from, to }: { from: number; to: number }): number {
  return (to - from) / 1000
}
