import { serverNow, useServerNow } from '../api/clock.ts'
import { createStore, useStore } from '../api/store.ts'
import { type Moments, momentsIn, relativeMoment } from '../words/time.ts'

/** The time zone of displayed times: the browser's, or UTC. */
export const ZONES = ['local', 'utc'] as const
export type Zone = (typeof ZONES)[number]

const KEPT = 'reprise-zone'
const MOMENTS: Readonly<Record<Zone, Moments>> = {
  local: momentsIn('local'),
  utc: momentsIn('UTC'),
}

const zone = createStore<Zone>(localStorage.getItem(KEPT) === 'utc' ? 'utc' : 'local')

export function useZone(): [Zone, (chosen: Zone) => void] {
  return [useStore(zone), chooseZone]
}

function chooseZone(chosen: Zone): void {
  localStorage.setItem(KEPT, chosen)
  zone.set(chosen)
}

/** How times are written in the chosen zone. */
export function useMoments(): Moments {
  return MOMENTS[useStore(zone)]
}

const TICKS_WITHIN_MS = 3_600_000

/** `12 s ago`, by the server's clock; its tooltip has the exact time. */
export function Ago({ at, said }: { at: string; said?: string }) {
  const then = Date.parse(at)
  const now = useServerNow(serverNow() - then < TICKS_WITHIN_MS)
  const { absolute } = useMoments()
  return (
    <time dateTime={at} title={said === undefined ? absolute(then) : `${said} ${absolute(then)}`}>
      {relativeMoment(Math.min(then, now), now)}
    </time>
  )
}
