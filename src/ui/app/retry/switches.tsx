import { type ComponentProps, useEffect, useState } from 'react'
import { usePolled } from '../../api/poll.ts'
import { createStore, useStore } from '../../api/store.ts'
import { HOLDS } from '../../design/causes.ts'
import type { Button } from '../../design/controls.tsx'
import { HeldIcon } from '../../design/icons.tsx'
import { GuardedButton } from '../guarded-button.tsx'
import { lazyDialog } from '../lazy-part.tsx'
import { useMoments } from '../moments.tsx'
import { noAdministration, useViewer } from '../viewer.ts'
import {
  type UiSwitchesFragment,
  type UiSwitchFragment,
  UiSwitchesNowDocument,
  type UiSwitchesNowQuery,
} from './switches.generated.ts'
import './switches.css'

type Switch = UiSwitchesFragment['retrySwitches'][number]

/** The switches that hold retries back, with author, time and reason. */
export function Switches({
  queue,
  project,
  onDone,
}: {
  queue: UiSwitchesFragment & { now: string }
  project: string | undefined
  /** Called after a switch has changed. */
  onDone: () => void
}) {
  const now = Date.parse(queue.now)
  const shown = queue.retrySwitches.filter(
    ({ disabled, rateLimit, scope, name }) =>
      (disabled || rateLimit !== null) && (project === undefined || scope !== 'PROJECT' || name === project),
  )
  if (shown.length === 0) return null
  return (
    <ul className="switches" aria-label="Switches in force">
      {shown.map((each) => {
        const [until, change] = each.disabled
          ? [each.disabledUntil, each.disabledChange]
          : [each.rateLimitUntil, each.rateLimitChange]
        return (
          <li key={each.id} className="switch">
            <HeldIcon className="tone-held" />
            <span>
              {whatWords(each)}
              {change !== null && (
                <>
                  {' since '}
                  <Moment at={Date.parse(change.at)} now={now} /> by <b>{change.by}</b>
                </>
              )}
              {until !== null && (
                <>
                  {', until '}
                  <Moment at={Date.parse(until)} now={now} />
                </>
              )}
              {change?.reason == null ? '.' : `: ${change.reason}`}
            </span>
            <SwitchButton
              changed={each}
              retries={each.disabled ? 'on' : 'same'}
              aria-label={`${each.disabled ? 'Switch on' : 'Change'}: ${whoseWords(each)}`}
              onDone={onDone}
            >
              {each.disabled ? 'Switch on…' : 'Change…'}
            </SwitchButton>
          </li>
        )
      })}
    </ul>
  )
}

/** `12:04`, with its day if that is not today. */
function Moment({ at, now }: { at: number; now: number }) {
  const moments = useMoments()
  const day = moments.day(at)
  return (
    <time dateTime={new Date(at).toISOString()} title={moments.absolute(at)}>
      {day === moments.day(now) ? moments.minute(at) : `${day}, ${moments.minute(at)}`}
    </time>
  )
}

function whoseWords({ scope, name }: Switch): string {
  return scope === 'CLUSTER' ? 'All retries' : `Retries of ${scope === 'DOMAIN' ? 'domain' : 'project'} ${name ?? ''}`
}

function whatWords(shown: Switch): string {
  const { disabled, rateLimit } = shown
  const whose = whoseWords(shown)
  if (disabled) return `${whose} are switched off`
  return `${whose} are limited to ${rateLimit!.perSecond} a second, ${rateLimit!.burst} at once`
}

const SwitchForm = lazyDialog(() => import('./switch-form.tsx'), 'SwitchForm')

interface Props extends ComponentProps<typeof Button> {
  /** Undefined: the form asks for the scope. */
  changed?: UiSwitchFragment
  /** The choice that is selected at first. */
  retries: 'off' | 'on' | 'same'
  onDone: () => void
}

/** Opens the form that switches retries; shows the reason where the user may not. */
export function SwitchButton({ changed, retries, onDone, ...button }: Props) {
  const [isOpen, setOpen] = useState(false)
  const refusal = noAdministration(useViewer(), changed?.scope ?? 'PROJECT')
  return (
    <>
      <GuardedButton {...button} refusal={refusal} onClick={() => setOpen(true)} />
      <>
        {isOpen && (
          <SwitchForm
            changed={changed}
            retries={retries}
            onClose={() => setOpen(false)}
            onDone={() => {
              setOpen(false)
              onDone()
            }}
          />
        )}
      </>
    </>
  )
}

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
