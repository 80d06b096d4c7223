import { toneOf, type Tone } from '../design/endings.ts'
import type { Timeline } from './bars.ts'
import { diamond } from './shapes.tsx'

const TONE_WORDS: Readonly<Record<Tone, string>> = {
  succeeded: 'succeeded',
  running: 'running',
  exit: 'exit code',
  memory: 'out of memory',
  agent: 'agent lost',
  image: 'image',
  scheduler: 'scheduler timeout',
  unknown: 'unknown cause',
  terminated: 'terminated',
}

/** What occurs in this chain, and nothing else. */
export function Legend({ timeline }: { timeline: Timeline }) {
  const { items, ghost } = timeline
  const tones = [...new Set(items.flatMap((item) => (item.type === 'bar' ? [toneOf(item)] : [])))]
  const kinds = items.flatMap((item): string[] =>
    item.type === 'bar' ? item.parts.map(({ kind }) => kind) : [item.kind],
  )
  const parts = new Set(kinds)
  const found = new Set(items.flatMap((item) => (item.type === 'bar' ? [item.session.checkpoint.state] : [])))
  return (
    <ul className="legend" aria-hidden="true">
      {tones.map((tone) => (
        <li key={tone} className={`tint-${tone}`}>
          <i className="swatch solid" />
          {TONE_WORDS[tone]}
        </li>
      ))}
      {parts.has('QUEUED') && (
        <li>
          <i className="swatch queued" />
          queued
        </li>
      )}
      {parts.has('PREPARING') && (
        <li>
          <i className="swatch preparing" />
          preparing
        </li>
      )}
      {parts.has('BACKOFF') && (
        <li>
          <i className="swatch dotted" />
          backoff
        </li>
      )}
      {parts.has('HELD') && (
        <li>
          <i className="swatch is-held" />
          held
        </li>
      )}
      {found.has('HERE') || found.has('FETCHED') ? (
        <li>
          <CheckpointSwatch className="checkpoint" />
          goes on from a checkpoint
        </li>
      ) : null}
      {found.has('MISSING') && (
        <li>
          <CheckpointSwatch className="checkpoint missing" />
          checkpoint missing
        </li>
      )}
      {ghost !== null && (
        <li>
          <i className="swatch dashed" />
          planned
        </li>
      )}
    </ul>
  )
}

function CheckpointSwatch({ className }: { className: string }) {
  return (
    <svg width="11" height="11" viewBox="0 0 11 11">
      <path className={className} d={diamond(1, 5.5, 9)} />
    </svg>
  )
}
