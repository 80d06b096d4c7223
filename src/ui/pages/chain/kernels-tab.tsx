import { bytes } from '../../words/count.ts'
import type { Moments } from '../../words/moment.ts'
import type { UiAttemptQuery } from './chain.generated.ts'
import '../../design/table.css'

type Kernel = NonNullable<UiAttemptQuery['session']>['kernels'][number]

/** The processes of an attempt. */
export function KernelsTab({
  kernels,
  isRead,
  moments,
}: {
  kernels: readonly Kernel[]
  isRead: boolean
  moments: Moments
}) {
  if (!isRead) return null
  if (kernels.length === 0) return <p className="chain-empty">It has no kernels yet.</p>
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is reached by the keyboard
    <div className="record-scroll" role="region" aria-label="Kernels" tabIndex={0}>
      <table className="record-table">
        <thead>
          <tr>
            <th scope="col">kernel</th>
            <th scope="col">status</th>
            <th scope="col">agent</th>
            <th scope="col">exit</th>
            <th scope="col">started</th>
            <th scope="col">ended</th>
            <th scope="col" className="number-cell">
              log
            </th>
          </tr>
        </thead>
        <tbody>
          {kernels.map((kernel) => (
            <tr key={kernel.id}>
              <td className="nowrap">
                {kernel.role} {kernel.index}
              </td>
              <td>{kernel.status.toLowerCase()}</td>
              <td>{kernel.agent?.name ?? '–'}</td>
              <td title={kernel.reason ?? undefined}>
                {kernel.oomKilled ? 'out of memory' : (kernel.exitCode ?? '–')}
              </td>
              <td className="nowrap">
                {kernel.startedAt === null ? '–' : moments.clock(Date.parse(kernel.startedAt))}
              </td>
              <td className="nowrap">
                {kernel.terminatedAt === null ? '–' : moments.clock(Date.parse(kernel.terminatedAt))}
              </td>
              <td className="number-cell">{bytes(kernel.logBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
