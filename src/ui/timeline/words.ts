import { endingWords } from '../design/causes.ts'
import { countdown, duration, type Moments, shortDuration } from '../words/time.ts'
import {
  type Bar,
  barsOf,
  type Gap,
  type Ghost,
  type Item,
  type PartKind,
  type SegmentSession,
  type Timeline,
  waitingSeconds,
} from './bars.ts'
import { createScale, stretchesOf } from './scale.ts'

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
  BREAKER: 'breaker',
}

const GAPS = { BACKOFF: 'backoff', HELD: 'held', RESUBMISSION_GAP: 'until resubmitted' } as const

/** The texts under a bar or a gap, the longest first. */
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

function holdWords(reason: string | null): string {
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

/** The sentence about several attempts that are drawn as one. */
export function bundleSentence(bars: readonly Bar[]): string {
  const causes = Map.groupBy(bars, endOf)
  const words = [...causes].toSorted(([, a], [, b]) => b.length - a.length).map(([end, all]) => `${all.length} ${end}`)
  return `attempts ${bars[0]!.attempt} to ${bars.at(-1)!.attempt}: ${words.join(', ')}`
}

/** The length in seconds. */
export function lengthOf({ from, to }: { from: number; to: number }): number {
  return (to - from) / 1000
}

const COLUMNS = 72
const CUT_COLUMNS = 4
/** The text has the newest attempts, up to this many. */
const ATTEMPTS_MAX = 20

const INK: Readonly<Record<PartKind, string>> = { QUEUED: '░', PREPARING: '▒', RUNNING: '█', ENDING: '▄' }

interface Of {
  name: string
  now: number
  moments: Moments
}

/** The timeline as text for a chat: a drawing in characters, and a line for each attempt. */
export function timelineText(timeline: Timeline, { name, now, moments }: Of): string {
  const recent = recentOf(timeline)
  const bars = barsOf(recent)
  const left = barsOf(timeline).length - bars.length
  const lines = [
    `${name} · ${moments.absolute(timeline.from)} · waited ${duration(waitingSeconds(timeline))}`,
    drawn(recent),
  ]
  if (left > 0) lines.push(`${left} earlier attempts are left out`)
  for (const bar of bars) {
    const after = recent.items.filter((item): item is Gap => item.type === 'gap' && item.attempt === bar.attempt)
    lines.push(
      `${String(bar.attempt).padStart(4)}  ${[partsOf(bar), endOf(bar), checkpointWords(bar.session), ...after.map(gapSentence)].filter(Boolean).join(', ')}`,
    )
  }
  const { ghost } = timeline
  if (ghost !== null) {
    const when = ghost.isHeld ? 'held' : `in ${countdown((ghost.at - now) / 1000)}`
    lines.push(`${String(ghost.attempt).padStart(4)}  planned, ${when}`)
  }
  return `${plain(lines.join('\n'))}\n`
}

function recentOf(timeline: Timeline): Timeline {
  const first = barsOf(timeline).at(-ATTEMPTS_MAX)
  if (first === undefined) return timeline
  return { ...timeline, from: first.from, items: timeline.items.slice(timeline.items.indexOf(first)) }
}

/** Draws the timeline in characters: each shows the state at its middle, `|` the beginning of an attempt. */
function drawn(timeline: Timeline): string {
  const scale = createScale(stretchesOf(timeline), COLUMNS, true, CUT_COLUMNS)
  const cells = Array.from({ length: COLUMNS }, (_, column) => inkAt(timeline, scale.at(column + 0.5)))
  for (const bar of barsOf(timeline)) cells[Math.min(COLUMNS - 1, Math.floor(scale.x(bar.from)))] = '│'
  if (timeline.ghost !== null) cells[Math.min(COLUMNS - 1, Math.floor(scale.x(timeline.ghost.at)))] = '┆'
  return cells.join('')
}

function inkAt({ items, to }: Timeline, at: number): string {
  if (at >= to) return ' '
  const item = items.findLast(({ from }) => from <= at)
  if (item === undefined) return ' '
  return item.type === 'gap' ? inkOfGap(item) : INK[item.parts.findLast(({ from }) => from <= at)!.kind]
}

function inkOfGap({ kind }: Gap): string {
  return kind === 'BACKOFF' ? '·' : kind === 'HELD' ? '‖' : '⫽'
}

function partsOf(bar: Bar): string {
  const words: Record<PartKind, string> = {
    QUEUED: 'queued',
    PREPARING: 'prepared',
    RUNNING: 'ran',
    ENDING: 'ended in',
  }
  const parts = bar.parts.filter((part) => lengthOf(part) >= 0.05)
  return parts.map((part) => `${words[part.kind]} ${shortDuration(lengthOf(part))}`).join(', ')
}

/** Replaces spaces that do not break, which a chat does not need. */
function plain(text: string): string {
  return text.replaceAll(/[\u00a0\u202f]/g, ' ')
}

/** The segments of a bar and the gaps after it, in words. */
export function partSentences(bar: Bar, after: readonly Item[]): string[] {
  return [...bar.parts, ...after].map((part) => spanSentence(part))
}

function spanSentence(part: { kind: string; from: number; to: number } | Item): string {
  const seconds = (part.to - part.from) / 1000
  const kind = 'kind' in part ? part.kind.toLowerCase().replace('_', ' ') : ''
  const reason = 'reason' in part && part.reason ? `: ${part.reason}` : ''
  return `${kind} ${seconds.toFixed(1)} seconds${reason}`
}
