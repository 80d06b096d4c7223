import { getRouteApi } from '@tanstack/react-router'
import { usePolled } from '../../api/poll.ts'
import { useStale } from '../../app/frame/connection.tsx'
import { useMoments } from '../../app/moments.tsx'
import { scopeWords } from '../../app/retry/scope-fields.tsx'
import type { UiSwitchFragment } from '../../app/retry/switches.generated.ts'
import { SwitchButton } from '../../app/retry/switches.tsx'
import { HeldIcon, RunningIcon } from '../../design/icons.tsx'
import type { Column } from '../../design/table.tsx'
import { duration } from '../../words/time.ts'
import { At, Part, Rows, Section, When } from './section.tsx'
import { UiSwitchSettingsDocument } from './settings.generated.ts'

const EVERY_MS = 5_000
const route = getRouteApi('/frame/settings/switches')

/** The switches that hold retries back. */
export function SwitchesSection() {
  const { dropped } = route.useSearch()
  const read = usePolled(UiSwitchSettingsDocument, {}, EVERY_MS)
  return (
    <Section
      says="Holds all retries that are due, those beyond a rate, or those of one kind of failure that hits many chains: everywhere, in a domain or in a project. Running sessions continue."
      dropped={dropped}
      acts={
        <SwitchButton retries="off" onDone={read.again}>
          Switch retries…
        </SwitchButton>
      }
    >
      <Part read={read}>
        {({ retrySwitches }) => (
          <Rows
            label="Switches"
            className="settings-switches"
            columns={COLUMNS}
            rows={retrySwitches}
            renderActs={(each) => (
              <>
                <SwitchButton
                  kind="quiet"
                  changed={each}
                  retries={each.disabled ? 'on' : 'off'}
                  aria-label={`Switch ${each.disabled ? 'on' : 'off'} ${scopeWords(each.scope, each.name)}`}
                  onDone={read.again}
                >
                  {each.disabled ? 'Switch on…' : 'Switch off…'}
                </SwitchButton>
                <SwitchButton
                  kind="quiet"
                  changed={each}
                  retries="same"
                  aria-label={`Change ${scopeWords(each.scope, each.name)}`}
                  onDone={read.again}
                >
                  Change…
                </SwitchButton>
              </>
            )}
            empty={
              <>
                <h2>Nothing holds retries back</h2>
                <AsOf />
                <p>Each retry starts when its delay is over.</p>
              </>
            }
          />
        )}
      </Part>
    </Section>
  )
}

/** The time of a state that may have changed since. */
function AsOf() {
  const stale = useStale()
  const { clock } = useMoments()
  return stale && <span className="settings-as-of">at {clock(stale.since)}; unknown now</span>
}

const COLUMNS: readonly Column<UiSwitchFragment>[] = [
  {
    title: 'Where',
    cell: ({ scope, name }) => <span className="settings-main">{scopeWords(scope, name)}</span>,
  },
  {
    title: 'Retries',
    isNamed: true,
    cell: ({ disabled, disabledUntil }) => (
      <>
        <span className="settings-state">
          {disabled ? <HeldIcon className="tone-held" /> : <RunningIcon className="tone-running" />}
          {disabled ? 'off' : 'on'}
          <AsOf />
        </span>
        {disabledUntil !== null && (
          <span className="settings-aside">
            until <At at={disabledUntil} />
          </span>
        )}
      </>
    ),
  },
  {
    title: 'Limit',
    isNamed: true,
    cell: ({ rateLimit, rateLimitUntil, breaker }) => (
      <>
        {rateLimit && `${rateLimit.perSecond} a second, ${rateLimit.burst} at once`}
        {rateLimit && rateLimitUntil !== null && (
          <span className="settings-aside">
            until <At at={rateLimitUntil} />
          </span>
        )}
        {breaker && (
          <span className={rateLimit ? 'settings-aside' : undefined}>
            held after {breaker.failures} failures alike in {breaker.chains} chains within {duration(breaker.window)}
          </span>
        )}
      </>
    ),
  },
  {
    title: 'Who and why',
    cell: ({ disabledChange, rateLimitChange }) => {
      const changes = [disabledChange, rateLimitChange].filter((each) => each !== null)
      const [last] = changes.toSorted((one, other) => other.at.localeCompare(one.at))
      return (
        last && (
          <>
            {last.by}, <When at={last.at} />
            {last.reason !== null && <span className="settings-aside">{last.reason}</span>}
          </>
        )
      )
    },
  },
]
