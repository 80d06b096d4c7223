import { useLayoutEffect, useRef, useState } from 'react'
import { download } from '../../api/login.ts'
import { useKeys } from '../../app/keys.ts'
import { toast } from '../../app/toasts.tsx'
import { openFind } from '../../log/log-parts.tsx'
import { LogViewer } from '../../log/log-viewer.tsx'
import { useLog } from '../../log/use-log.ts'
import type { Bar, Timeline } from '../../timeline/bars.ts'
import { endOf } from '../../timeline/words.ts'
import { countdown } from '../../words/time.ts'
import { chainLog, kernelLog, type LoggedAttempt } from './chain-log.ts'
import type { UiAttemptQuery } from './chain.generated.ts'

type Kernel = NonNullable<UiAttemptQuery['session']>['kernels'][number]

interface Props {
  chainId: string
  bar: Bar
  bars: readonly Bar[]
  kernels: readonly Kernel[]
  /** Whether the kernels have been read. */
  isRead: boolean
  timeline: Timeline
  now: number
  line: number | undefined
  onLine: (line: number) => void
  /** The logs of all attempts are read as one. */
  isAll: boolean
  onAll: (isAll: boolean) => void
}

export function LogsTab(props: Props) {
  const { chainId, bar, bars, kernels, isRead, timeline, now, line, onLine, isAll, onAll } = props
  useKeys([{ keys: '/', does: 'search the log', run: openFind }])
  const [chosen, setChosen] = useState<string | null>(null)
  const kernel = kernels.find(({ kernelId }) => kernelId === chosen) ?? kernels[0]
  const all = bars.length > 1 && (
    <button type="button" className="tool" aria-pressed={isAll} onClick={() => onAll(!isAll)}>
      All attempts
    </button>
  )
  if (isAll && bars.length > 0)
    return (
      <AllLogs
        chainId={chainId}
        bars={bars}
        ends={endsOf(bars.at(-1)!, undefined, timeline, now)}
        tools={all}
        {...{ line, onLine }}
      />
    )
  if (kernel === undefined) {
    const waits = bar.outcome === 'LIVE'
    return (
      <>
        {all && <div className="log-tools">{all}</div>}
        <p className="chain-empty" aria-busy={!isRead}>
          {!isRead ? 'reading…' : waits ? 'It has no log before it runs.' : 'It never ran, so it has no log.'}
        </p>
      </>
    )
  }
  return (
    <KernelLog
      key={kernel.kernelId}
      kernel={kernel}
      ends={endsOf(bar, bars[bars.indexOf(bar) + 1], timeline, now)}
      chainId={bars.length > 1 ? chainId : null}
      line={line}
      onLine={onLine}
      picker={
        <>
          {all}
          {kernels.length > 1 && (
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
          )}
        </>
      }
    />
  )
}

function AllLogs(props: {
  bars: readonly Bar[]
  chainId: string
  ends: { key: string; text: string }[]
  line: number | undefined
  onLine: (line: number) => void
  tools: React.ReactNode
}) {
  const { bars, ends, line, onLine, tools, chainId } = props
  const attempts = useRef<readonly LoggedAttempt[]>([])
  useLayoutEffect(() => {
    attempts.current = bars.map(loggedAttempt)
  })
  const log = useLog('all', () => chainLog(() => attempts.current), line !== undefined)
  const isLive = bars.at(-1)!.outcome === 'LIVE'
  if (log.error !== null)
    return (
      <p className="chain-empty" role="alert">
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
          {tools}
          <DownloadButton path={`/v2/chains/${chainId}/log`} words="Download all" />
        </>
      }
    />
  )
}

interface KernelLogProps {
  kernel: Kernel
  /** The chain, if it has several attempts. */
  chainId: string | null
  ends: { key: string; text: string }[]
  line: number | undefined
  onLine: (line: number) => void
  picker: React.ReactNode
}

function KernelLog({ kernel, chainId, ends, line, onLine, picker }: KernelLogProps) {
  const isLive = kernel.terminatedAt === null
  const log = useLog(kernel.id, () => kernelLog({ ...kernel, isLive }), line !== undefined)
  if (log.error !== null)
    return (
      <p className="chain-empty" role="alert">
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
          <DownloadButton path={`/v2/kernels/${kernel.kernelId}/log`} />
          {chainId !== null && <DownloadButton path={`/v2/chains/${chainId}/log`} words="Download all" />}
        </>
      }
    />
  )
}

function DownloadButton({ path, words = 'Download' }: { path: string; words?: string }) {
  const start = () =>
    download(path).catch((error: unknown) => {
      toast('refused', `Download: ${(error as Error).message}`)
    })
  return (
    <button type="button" className="tool" onClick={() => void start()}>
      {words}
    </button>
  )
}

function loggedAttempt(bar: Bar): LoggedAttempt {
  const { attempt, session } = bar
  return {
    attempt,
    sessionId: session.sessionId,
    end: `attempt ${attempt} ended: ${endOf(bar)}, attempt ${attempt + 1} follows`,
  }
}

/** The notes after the last line: how the attempt ended, and when the next one starts. */
function endsOf(bar: Bar, next: Bar | undefined, { ghost }: Timeline, now: number): { key: string; text: string }[] {
  if (bar.outcome === 'LIVE') return []
  const ends = [{ key: 'end', text: `attempt ${bar.attempt} ended: ${endOf(bar)}` }]
  if (next) return [...ends, { key: 'next', text: `attempt ${next.attempt} follows` }]
  if (ghost === null) return ends
  const when = ghost.isHeld ? 'is held' : `in ${countdown((ghost.at - now) / 1000)}`
  return [...ends, { key: 'next', text: `attempt ${ghost.attempt} ${when}` }]
}
