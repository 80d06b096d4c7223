import type { Moments } from '../../words/moment.ts'
import '../../design/table.css'

interface Entry {
  phase: string
  fromStatus: string | null
  toStatus: string | null
  result: string
  message: string | null
  attempts: number
  firstAt: string
  lastAt: string
}

/** What the scheduler did with something, one row for what it did several times in a row. */
export function HistoryTable(props: { label: string; entries: readonly Entry[]; moments: Moments; hasDays?: boolean }) {
  const { label, entries, moments, hasDays = false } = props
  const written = (at: number) => (hasDays ? `${moments.day(at)}, ${moments.clock(at)}` : moments.clock(at))
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is reached by the keyboard
    <div className="record-scroll" role="region" aria-label={label} tabIndex={0}>
      <table className="record-table">
        <thead>
          <tr>
            <th scope="col" className="nowrap">
              at ({moments.zone(Date.parse(entries[0]!.firstAt))})
            </th>
            <th scope="col">what</th>
            <th scope="col">status</th>
            <th scope="col">result</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={`${entry.firstAt} ${entry.phase} ${entry.toStatus} ${entry.message}`}>
              <td className="nowrap" title={moments.absolute(Date.parse(entry.lastAt))}>
                {written(Date.parse(entry.firstAt))}
              </td>
              <td>
                {entry.phase}
                {entry.attempts > 1 && <span className="soft"> × {entry.attempts}</span>}
              </td>
              <td className="nowrap soft">{statusWords(entry)}</td>
              <td className="words">
                {entry.result.toLowerCase().replaceAll('_', ' ')}
                {entry.message && <span className="soft">: {entry.message}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** `ALIVE`, `ALIVE › LOST` */
function statusWords({ fromStatus, toStatus }: Entry): string | null {
  if (toStatus === null || fromStatus === null || fromStatus === toStatus) return toStatus ?? fromStatus
  return `${fromStatus} › ${toStatus}`
}
