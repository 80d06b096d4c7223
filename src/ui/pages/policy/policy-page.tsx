import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { IgnoredParameters } from '../../app/list/list-page.tsx'
import { ProblemPanel, useTitle } from '../../app/page.tsx'
import { Button } from '../../design/controls.tsx'
import { type Draft, POLICY_FIELDS, POLICY_SECTIONS } from '../../policy/policy-fields.ts'
import { PolicyInputs } from '../../policy/policy-form.tsx'
import { AIRFLOW_SECTIONS, draftOf, type PolicySearch, searchOf } from './policy-search.ts'
import { type Preview, SchedulePanel, usePreview } from './schedule-panel.tsx'
import '../../design/controls.css'
import './policy.css'

const route = getRouteApi('/frame/policy')

interface Typed {
  draft: Draft
  from: PolicySearch['from']
}

/** Draws the schedule of a retry policy while it is typed. The address contains the policy. */
export function PolicyPage() {
  const { dropped, project } = route.useSearch()
  const [typed, setTyped, settled] = useTyped()
  const { draft, from } = typed
  const isAirflow = from === 'airflow'
  const { preview, faults, error, again } = usePreview(settled.draft, settled.from === 'airflow', project)
  useTitle('Try a policy')
  const isFaulty = Object.keys(faults).length > 0
  const hasTyped = Object.keys(draft).length > 0
  return (
    <div className="policy-page">
      <h1 tabIndex={-1}>Try a policy</h1>
      <nav className="tabs" aria-label="Written as">
        {([undefined, 'airflow'] as const).map((each) => (
          <button
            key={each ?? 'policy'}
            type="button"
            className="tab"
            aria-current={each === from ? 'page' : undefined}
            onClick={() => setTyped({ draft, from: each })}
          >
            {each === undefined ? 'Policy' : 'From Airflow'}
          </button>
        ))}
      </nav>
      <IgnoredParameters names={dropped} />
      <div className="policy-columns">
        <div className="policy-side">
          <form key={from} className="policy-form" aria-label="Policy" onSubmit={(event) => event.preventDefault()}>
            <PolicyInputs
              sections={isAirflow ? AIRFLOW_SECTIONS : POLICY_SECTIONS}
              foldedFrom={isAirflow ? 1 : 2}
              draft={draft}
              faults={faults}
              onChange={(name, text) => setTyped({ from, draft: withText(draft, name, text) })}
            />
          </form>
          <div className="policy-starts">
            {!isAirflow &&
              Object.entries(EXAMPLES).map(([name, example]) => (
                <Button key={name} kind="quiet" onClick={() => setTyped({ from, draft: example })}>
                  {name}
                </Button>
              ))}
            {hasTyped && (
              <Button kind="quiet" onClick={() => setTyped({ from, draft: {} })}>
                Clear
              </Button>
            )}
          </div>
        </div>
        {error !== null ? (
          <ProblemPanel error={error} onAgain={again} />
        ) : preview === null || (preview.airflow !== null) !== isAirflow ? (
          <div className="policy-result policy-skeleton" aria-busy={!isFaulty}>
            {isFaulty && <p className="policy-hint">It is drawn once what is marked is right.</p>}
          </div>
        ) : (
          <SchedulePanel
            preview={preview}
            isStale={isFaulty}
            project={project}
            onTake={() => setTyped({ from: undefined, draft: draftOfAirflow(preview.airflow!.policy) })}
          />
        )}
      </div>
    </div>
  )
}

const EXAMPLES: Readonly<Record<string, Draft>> = {
  'Soon, then patient': { retries: '6', delay: '30s', backoff: 'exponential', jitter: 'random' },
  'Every 10 minutes': { retries: '5', delay: '10m', jitter: 'none' },
  'Exit codes of CMS': { preset: 'cms-exit-codes', exit: '8021' },
}

function withText(draft: Draft, name: string, text: string): Draft {
  const { [name]: _, ...rest } = draft
  return text === '' ? rest : { ...rest, [name]: text }
}

const SETTLED_MS = 250

/**
 * The typed texts, and their value after typing pauses. The address follows them, and opening another address sets
 * them.
 */
function useTyped(): [Typed, (typed: Typed) => void, Typed] {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const addressed = (): Typed => ({ draft: draftOf(search), from: search.from })
  const [typed, setTyped] = useState(addressed)
  const [settled, setSettled] = useState(typed)
  const address = keyOf(addressed())
  const written = useRef(address)

  const settle = useEffectEvent(() => {
    setSettled(typed)
    if (keyOf(typed) === address) return
    written.current = keyOf(typed)
    const kept = search.project === undefined ? {} : { project: search.project }
    void navigate({ search: { ...kept, ...searchOf(typed.draft, typed.from) }, replace: true, resetScroll: false })
  })
  useEffect(() => {
    const timer = setTimeout(settle, SETTLED_MS)
    return () => clearTimeout(timer)
  }, [typed])

  const follow = useEffectEvent(() => {
    if (address === written.current) return
    written.current = address
    setTyped(addressed())
  })
  useEffect(() => follow(), [address])
  return [typed, setTyped, settled]
}

function keyOf({ draft, from }: Typed): string {
  const search = searchOf(draft, from)
  return JSON.stringify(Object.entries(search).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function draftOfAirflow(policy: NonNullable<Preview['airflow']>['policy']): Draft {
  const { sources, ...values } = policy
  const given: ReadonlySet<string> = new Set(
    sources.filter(({ source }) => source === 'SESSION').map(({ field }) => field),
  )
  return Object.fromEntries(
    POLICY_FIELDS.filter(({ path }) => given.has(path)).map(({ name, path, kind }) => {
      const value = values[path as keyof typeof values]
      if (value === null) return [name, 'none']
      return [
        name,
        kind === 'duration' && typeof value === 'number'
          ? `${value}s`
          : String(value).toLowerCase().replaceAll('_', '-'),
      ]
    }),
  )
}
