import { counted } from '../words/numbers.ts'
import { duration, type Moments } from '../words/time.ts'
import { type Bar, barsOf, type Timeline } from './bars.ts'
import { checkpointWords, endOf, gapSentence, ghostSentence, lengthOf } from './words.ts'

/** More rows would take hours to read aloud, and slow the browser. */
const ROWS_MAX = 100

interface Props {
  timeline: Timeline
  moments: Moments
  now: number
}

/** The drawing as a table, for people who cannot see it. */
export function TimelineTable({ timeline, moments, now }: Props) {
  const bars = barsOf(timeline)
  const shown = bars.slice(-ROWS_MAX)
  const after = Map.groupBy(
    timeline.items.filter(({ type }) => type === 'gap'),
    ({ attempt }) => attempt,
  )
  return (
    <div className="visually-hidden">
      <table>
        <caption>
          {`Attempts of this chain${shown.length < bars.length ? `, the last ${ROWS_MAX} of ${counted(bars.length, 'attempt')}` : ''}`}
        </caption>
        <thead>
          <tr>
            {['Attempt', 'Epoch', 'Began', 'End', 'Queued', 'Prepared', 'Ran', 'Checkpoint', 'After it'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((bar) => (
            <tr key={bar.attempt}>
              <th scope="row">{bar.attempt}</th>
              <td>{bar.epoch}</td>
              <td>{moments.absolute(bar.from)}</td>
              <td>{endOf(bar)}</td>
              <td>{secondsOf(bar, 'QUEUED')}</td>
              <td>{secondsOf(bar, 'PREPARING')}</td>
              <td>{secondsOf(bar, 'RUNNING')}</td>
              <td>{checkpointWords(bar.session)}</td>
              <td>{(after.get(bar.attempt) ?? []).map(gapSentence).join(', ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {timeline.ghost !== null && <p>{ghostSentence(timeline.ghost, now)}</p>}
    </div>
  )
}

function secondsOf({ parts }: Bar, kind: string): string {
  return duration(parts.filter((part) => part.kind === kind).reduce((sum, part) => sum + lengthOf(part), 0))
}
