import { useEffect, useState } from 'react'
import { useServerNow } from '../../api/clock.ts'
import { liveState } from '../../api/live.ts'
import { useStore } from '../../api/store.ts'
import { build } from '../../api/build.ts'
import { Button } from '../../design/button.tsx'
import { useMoments } from '../moments.ts'
import './frame.css'

const HOLLOW_AFTER_MS = 1_000
const LINE_AFTER_MS = 5_000

/** Whether what is shown is told of changes. */
export function Connection() {
  const state = useStore(liveState)
  const moments = useMoments()
  const now = useServerNow(state.kind === 'reconnecting')
  const brokenMs = state.kind === 'reconnecting' ? now - state.since : 0
  const wasBroken = useWasBroken(state.kind)
  const isOff = state.kind === 'off' || brokenMs > HOLLOW_AFTER_MS
  const words =
    state.kind === 'reconnecting' && brokenMs > LINE_AFTER_MS
      ? `Not live since ${moments.clock(state.since)}, reconnecting`
      : state.kind === 'off'
        ? 'Not live'
        : isOff
          ? 'Reconnecting'
          : wasBroken
            ? 'Caught up'
            : 'Live'
  if (state.kind === 'idle' || state.kind === 'connecting') return <span className="connection" />
  return (
    <span
      className="connection"
      role="status"
      data-off={isOff || undefined}
      title={state.kind === 'off' ? state.why : undefined}
    >
      <span className="connection-dot" aria-hidden="true" />
      <span className="connection-words">{words}</span>
    </span>
  )
}

const CAUGHT_UP_MS = 3_000

function useWasBroken(kind: string): boolean {
  const [last, setLast] = useState(kind)
  const [was, setWas] = useState(false)
  if (last !== kind) {
    setLast(kind)
    if (last === 'reconnecting' && kind === 'live') setWas(true)
  }
  useEffect(() => {
    if (!was) return undefined
    const timer = setTimeout(() => setWas(false), CAUGHT_UP_MS)
    return () => clearTimeout(timer)
  }, [was])
  return was
}

/** The server has another build than this page. */
export function NewVersion() {
  const { loaded, served } = useStore(build)
  const [dismissed, setDismissed] = useState<string | null>(null)
  if (loaded === null || served === loaded || served === dismissed) return null
  return (
    <div className="new-version" role="status">
      A new version is here.
      <Button onClick={() => location.reload()}>Reload</Button>
      <Button kind="quiet" onClick={() => setDismissed(served)}>
        Later
      </Button>
    </div>
  )
}
