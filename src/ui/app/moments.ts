import { createStore, useStore } from '../api/store.ts'
import { momentsIn, type Moments } from '../words/moment.ts'

/** In which zone times are written: that of this browser, or UTC. */
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

/** How times are written, as whoever looks at them has chosen. */
export function useMoments(): Moments {
  return MOMENTS[useStore(zone)]
}
