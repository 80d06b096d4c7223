import { useEffect } from 'react'
import { usePolled } from '../../api/poll.ts'
import { createStore, useStore } from '../../api/store.ts'
import { HOLDS } from '../../design/causes.ts'
import { Switches } from './switches.tsx'
import { UiSwitchesNowDocument, type UiSwitchesNowQuery, type UiSwitchFragment } from './switches.generated.ts'

const EVERY_MS = 5_000
const NONE: readonly UiSwitchFragment[] = []

/** The switches, while a component follows them. */
const known = createStore(NONE)

interface Placed {
  name: string
  domain: string
}

/** The switch that has switched off the retries of a project; the widest one of several. */
export function switchedOff(switches: readonly UiSwitchFragment[], project: Placed): UiSwitchFragment | undefined {
  return switches.find(
    ({ disabled, scope, name }) =>
      disabled && (scope === 'CLUSTER' || name === (scope === 'DOMAIN' ? project.domain : project.name)),
  )
}

/** The same, with the switches that a component of the page follows. */
export function useSwitchedOff(project: Placed): UiSwitchFragment | undefined {
  return switchedOff(useStore(known), project)
}

function useSwitches() {
  const { data, again } = usePolled(UiSwitchesNowDocument, {}, EVERY_MS)
  useEffect(() => {
    known.set(data?.retrySwitches ?? NONE)
    return () => known.set(NONE)
  }, [data])
  return { data, again }
}

/** Keeps the switches up to date for `useSwitchedOff`. */
export function FollowSwitches() {
  useSwitches()
  return null
}

/** Does the same, and shows those that hold the next retry of a project once it is due. */
export function SwitchesAhead({ project }: { project: Placed }) {
  const { data, again } = useSwitches()
  const found = data && switchedOff(data.retrySwitches, project)
  return found && <Switches queue={onlyOf(data, found)} project={undefined} onDone={again} />
}

function onlyOf({ now }: UiSwitchesNowQuery, found: UiSwitchFragment) {
  return { now, retrySwitches: [found] }
}

/** Beside a countdown to a retry that will be held. */
export const SWITCHED_OFF = HOLDS.DISABLED

/** Who switched retries off, and why: `by ada: storm`. */
export function whoSwitched({ disabledChange: change }: UiSwitchFragment): string {
  if (change === null) return SWITCHED_OFF
  return `${SWITCHED_OFF} by ${change.by}${change.reason === null ? '' : `: ${change.reason}`}`
}
