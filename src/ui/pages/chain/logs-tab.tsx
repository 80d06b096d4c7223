import { useState } from 'react'
import { LogViewer } from '../../log/log-viewer.tsx'
import type { Bar, Timeline } from '../../timeline/bars.ts'
import { endOf } from '../../timeline/item-words.ts'
import { countdown } from '../../words/duration.ts'
import type { UiAttemptQuery } from './chain.generated.ts'
import { useKernelLog } from './use-kernel-log.ts'

type Kernel = NonNullable<UiAttemptQuery['session']>['kernels'][number]

interface Props {
  bar: Bar
  next: Bar | undefined
  kernels: readonly Kernel[]
  timeline: Timeline
  now: number
  line: number | undefined
  onLine: (line: number) => void
}

export function LogsTab({ bar, next, kernels, timeline, now, line, onLine }: Props) {
  const [chosen, setChosen] = useState<string | null>(null)
  const kernel = kernels.find(({ kernelId }) => kernelId === chosen) ?? kernels[0]
  if (kernel === undefined) {
    const waits = bar.outcome === 'LIVE'
    return <p className="empty">{waits ? 'It writes nothing before it runs.' : 'It never ran, so it wrote nothing.'}</p>
  }
  return (
    <KernelLog
      key={kernel.kernelId}
      kernel={kernel}
      ends={endsOf(bar, next, timeline, now)}
      line={line}
      onLine={onLine}
      picker={
        kernels.length > 1 && (
          <select
            className="tool"
            aria-label="Kernel"
            value={kernel.kernelId}
            onChange={(event) => setChosen(event.target.value)}
          >
            {kernels.map(({ kernelId, role, index }) => (
              <option key={kernelId} value={kernelId}>
                {role} {index}
              </option>
            ))}
          </select>
        )
      }
    />
  )
}

interface KernelLogProps {
  kernel: Kernel
  ends: { key: string; text: string }[]
  line: number | undefined
  onLine: (line: number) => void
  picker: React.ReactNode
}

function KernelLog({ kernel, ends, line, onLine, picker }: KernelLogProps) {
  const isLive = kernel.terminatedAt === null
  const log = useKernelLog(kernel.id, kernel.kernelId, isLive, line !== undefined)
  if (log.error !== null)
    return (
      <p className="empty" role="alert">
        {log.error}
      </p>
    )
  return (
    <LogViewer
      {...log}
      ends={isLive ? [] : ends}
      isLive={isLive}
      line={line}
      onLine={onLine}
      tools={
        <>
          {picker}
          {kernel.logTruncated && <span className="truncated">truncated</span>}
          <a className="tool" href={`/v2/kernels/${kernel.kernelId}/log`} download={`${kernel.kernelId}.log`}>
            Download
          </a>
        </>
      }
    />
  )
}

/** What follows the last line: how the attempt ended, and when there is another. */
function endsOf(bar: Bar, next: Bar | undefined, { ghost }: Timeline, now: number): { key: string; text: string }[] {
  if (bar.outcome === 'LIVE') return []
  const ends = [{ key: 'end', text: `attempt ${bar.attempt} ended: ${endOf(bar)}` }]
  if (next) return [...ends, { key: 'next', text: `attempt ${next.attempt} follows` }]
  if (ghost === null) return ends
  const when = ghost.isHeld ? 'is held' : `in ${countdown((ghost.at - now) / 1000)}`
  return [...ends, { key: 'next', text: `attempt ${ghost.attempt} ${when}` }]
}
