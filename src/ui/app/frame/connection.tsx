import { useEffect, useState } from 'react'
import { useServerNow } from '../../api/clock.ts'
import { liveState } from '../../api/live.ts'
import { build } from '../../api/login.ts'
import { polls, STALE_AFTER_MS, type Stale, usePolled } from '../../api/poll.ts'
import { useStore } from '../../api/store.ts'
import { Button } from '../../design/controls.tsx'
import { UiHeartbeatDocument } from '../app.generated.ts'
import { useMoments } from '../moments.tsx'
import './frame.css'

const HOLLOW_AFTER_MS = 1_000

/** Whether what the page shows may be outdated, and since when; null if it is up to date. */
export function useStale(): Stale | null {
  const live = useStore(liveState)
  const { stale: polled } = useStore(polls)
  const now = useServerNow(live.kind === 'reconnecting')
  const followed =
    live.kind === 'off'
      ? { since: live.since, why: live.why }
      : live.kind === 'reconnecting' && now - live.since > STALE_AFTER_MS
        ? { since: live.since, why: null }
        : null
  if (followed && polled) return followed.since < polled.since ? followed : polled
  return followed ?? polled
}

/** Shows whether the page is up to date. */
export function Connection() {
  const live = useStore(liveState)
  const { isAnswered } = useStore(polls)
  const stale = useStale()
  const moments = useMoments()
  const now = useServerNow(live.kind === 'reconnecting')
  const isBroken = stale !== null || (live.kind === 'reconnecting' && now - live.since > HOLLOW_AFTER_MS)
  const wasBroken = useWasTrue(stale !== null || live.kind === 'reconnecting')
  const words = stale
    ? live.kind === 'off'
      ? 'Not live'
      : `Not live since ${moments.clock(stale.since)}, reconnecting`
    : isBroken
      ? 'Reconnecting'
      : wasBroken
        ? 'Caught up'
        : 'Live'
  if (!stale && (live.kind === 'connecting' || (live.kind === 'idle' && !isAnswered)))
    return <span className="connection" />
  return (
    <span className="connection" role="status" data-off={isBroken || undefined} title={stale?.why ?? undefined}>
      <span className="connection-dot" aria-hidden="true" />
      <span className="connection-words">{words}</span>
    </span>
  )
}

const CAUGHT_UP_MS = 3_000

/** Whether the value was true shortly before. */
function useWasTrue(isTrue: boolean): boolean {
  const [last, setLast] = useState(isTrue)
  const [was, setWas] = useState(false)
  if (last !== isTrue) {
    setLast(isTrue)
    if (last) setWas(true)
  }
  useEffect(() => {
    if (!was) return undefined
    const timer = setTimeout(() => setWas(false), CAUGHT_UP_MS)
    return () => clearTimeout(timer)
  }, [was])
  return was
}

/** Above a page that is no longer up to date. */
export function StaleNotice() {
  const stale = useStale()
  const moments = useMoments()
  if (!stale) return null
  return (
    <p className="notice stale-notice" role="status">
      This page shows the state of {moments.clock(stale.since)}, which may have changed:{' '}
      {stale.why ?? 'the server does not answer.'}
    </p>
  )
}

const HEARTBEAT_AFTER_MS = 1_500
const HEARTBEAT_EVERY_MS = 2_500

/** Asks the server whether it is there while the page itself reads nothing regularly. */
export function Heartbeat() {
  const live = useStore(liveState)
  const [isQuiet, setQuiet] = useState(false)
  const { count, stale } = useStore(polls)
  const hasPolls = count > (isQuiet ? 1 : 0)
  // What was outdated on the page before is outdated until an answer comes.
  const hasOthers = hasPolls || (live.kind !== 'idle' && stale === null)
  useEffect(() => {
    if (hasOthers) return setQuiet(false)
    const timer = setTimeout(() => setQuiet(true), HEARTBEAT_AFTER_MS)
    return () => clearTimeout(timer)
  }, [hasOthers])
  return isQuiet && <Beat />
}

function Beat() {
  usePolled(UiHeartbeatDocument, {}, HEARTBEAT_EVERY_MS)
  return null
}

/** Shows that the server has another build than this page. */
export function NewVersion() {
  const { loaded, served } = useStore(build)
  const [dismissed, setDismissed] = useState<string | null>(null)
  if (loaded === null || served === loaded || served === dismissed) return null
  return (
    <div className="new-version" role="status">
      A new version is available.
      <Button onClick={() => location.reload()}>Reload</Button>
      <Button kind="quiet" onClick={() => setDismissed(served)}>
        Later
      </Button>
    </div>
  )
}
