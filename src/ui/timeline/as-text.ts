import { countdown, duration, shortDuration } from '../words/duration.ts'
import type { Moments } from '../words/moment.ts'
import { barsOf, waitingSeconds, type Bar, type Gap, type PartKind, type Timeline } from './bars.ts'
import { createScale, stretchesOf } from './elastic-scale.ts'
import { checkpointWords, endOf, gapSentence, lengthOf } from './item-words.ts'

const COLUMNS = 72
const CUT_COLUMNS = 4
/** The drawing and the lines are of this many newest attempts. */
const ATTEMPTS_MAX = 20

const INK: Readonly<Record<PartKind, string>> = { QUEUED: '░', PREPARING: '▒', RUNNING: '█', ENDING: '▄' }

interface Of {
  name: string
  now: number
  moments: Moments
}

/** The drawing in characters, for a chat, and what it says in a line an attempt. */
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

/** One character for what is at its middle; `|` where an attempt begins. */
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

/** A chat does not need spaces that do not break. */
function plain(text: string): string {
  return text.replaceAll(/[\u00a0\u202f]/g, ' ')
}
