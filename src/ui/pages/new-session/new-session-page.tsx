import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useQuery } from 'urql'
import { useSend } from '../../app/act/act.ts'
import { Dropped } from '../../app/list/dropped.tsx'
import { NO_FAULTS, placeFaults, type Faults } from '../../app/form/faults.ts'
import { GuardedButton } from '../../app/form/guarded-button.tsx'
import { ProblemPanel } from '../../app/problem-panel.tsx'
import { toast } from '../../app/toasts.tsx'
import { useViewer } from '../../app/viewer.ts'
import { Button } from '../../design/button.tsx'
import { Skeleton } from '../../design/skeleton.tsx'
import { POLICY_SECTIONS, type Draft } from '../../policy/policy-fields.ts'
import { PolicyInputs } from '../../policy/policy-form.tsx'
import { UiCreateSessionDocument, UiNewSessionDocument, type UiNewSessionQuery } from './new-session.generated.ts'
import { keepDraft, keptDraft } from './kept-draft.ts'
import { defaultsOf, withDefaults } from './session-defaults.ts'
import { readSession } from './session-draft.ts'
import { SessionInputs } from './session-inputs.tsx'
import { SessionPanel } from './session-panel.tsx'
import './new-session.css'

const route = getRouteApi('/frame/chains/new')

/** A session from a form, with its retries drawn while they are typed. */
export function NewSessionPage() {
  const [{ data, error }, again] = useQuery({ query: UiNewSessionDocument, requestPolicy: 'network-only' })
  const { dropped } = route.useSearch()
  useEffect(() => {
    document.title = 'New session · Reprise'
  }, [])
  return (
    <div className="new-session">
      <h1 tabIndex={-1}>New session</h1>
      <Dropped names={dropped} />
      {data ? (
        <NewSession known={data} />
      ) : error ? (
        <ProblemPanel error={error} onAgain={() => again({ requestPolicy: 'network-only' })} />
      ) : (
        <Skeleton />
      )}
    </div>
  )
}

/** A policy is tried with causes elsewhere. */
const SECTIONS = POLICY_SECTIONS.filter(([title]) => title !== 'Tried with')

function NewSession({ known }: { known: UiNewSessionQuery }) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { can, role, project: own } = useViewer()
  const send = useSend()
  const form = useRef<HTMLFormElement>(null)
  const project = own?.name ?? search.project
  const [draft, setDraft] = useState<Draft>(() => ({ ...keptDraft(), ...(project !== undefined && { project }) }))
  useEffect(() => keepDraft(draft), [draft])
  // Another one is chosen above the page.
  const [chosen, setChosen] = useState(project)
  if (chosen !== project) {
    setChosen(project)
    setDraft((last) => (project === undefined ? without(last, 'project') : { ...last, project }))
  }
  const [refused, setRefused] = useState<Faults>(NO_FAULTS)
  const [previewFaults, setPreviewFaults] = useState<Readonly<Record<string, string>>>({})
  // What is missing is said once somebody has tried; each time the first field that is wrong has the focus.
  const [tries, setTries] = useState(0)
  useEffect(() => {
    if (tries > 0) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [tries])
  const [isBusy, setBusy] = useState(false)
  const { input, faults, places } = readSession(draft)
  const defaults = defaultsOf(known, draft['project'] ?? 'default')
  const { command: missing, ...others } = faults
  const shown = {
    ...refused.fields,
    ...previewFaults,
    ...others,
    ...(missing !== undefined && (tries > 0 || draft['command']) && { command: missing }),
  }
  const change = (name: string, text: string) => {
    setDraft((last) => (text === '' ? without(last, name) : { ...last, [name]: text }))
    setRefused(({ fields }) => ({ fields: without(fields, name), rest: null }))
  }
  const create = async () => {
    if (!can.createSessions || isBusy) return undefined
    if (Object.keys(faults).length > 0) return setTries((before) => before + 1)
    setBusy(true)
    const { done, problem } = await send(UiCreateSessionDocument, { input })
    setBusy(false)
    if (problem) {
      const placed = placeFaults(problem, Object.keys(places), CODES)
      setRefused({
        fields: Object.fromEntries(Object.entries(placed.fields).map(([path, words]) => [places[path]!, words])),
        rest: placed.rest,
      })
      return setTries((before) => before + 1)
    }
    keepDraft({})
    toast('done', `${done.session.name} is created.`)
    return navigate({ to: '/chains/$chainId', params: { chainId: done.session.chainId }, search: {} })
  }
  const groups = known.resourceGroups.filter(({ allowedSessionTypes }) => allowedSessionTypes.includes('BATCH'))
  return (
    <div className="new-session-columns">
      <form
        ref={form}
        className="new-session-form"
        aria-label="New session"
        onSubmit={(event) => {
          event.preventDefault()
          void create()
        }}
      >
        <SessionInputs
          draft={draft}
          faults={shown}
          projects={own ? [own.name] : known.projects.edges.map(({ node }) => node.name)}
          groups={groups.map(({ name }) => name)}
          name={input.name}
          onChange={change}
        />
        <PolicyInputs
          sections={withDefaults(SECTIONS, defaults.draft)}
          foldedFrom={2}
          draft={draft}
          faults={shown}
          onChange={change}
        />
        <div className="new-session-foot">
          {refused.rest !== null && (
            <p className="new-session-refused" role="alert">
              {refused.rest}
            </p>
          )}
          {Object.keys(draft).some((name) => name !== 'project') && (
            <Button
              kind="quiet"
              onClick={() => {
                setDraft(project === undefined ? {} : { project })
                setRefused(NO_FAULTS)
                setTries(0)
              }}
            >
              Start over
            </Button>
          )}
          <GuardedButton
            kind="primary"
            type="submit"
            disabled={isBusy}
            refusal={can.createSessions ? null : `Your token has the role ${role}, which may not create sessions.`}
          >
            Create session
          </GuardedButton>
        </div>
      </form>
      <SessionPanel
        draft={draft}
        input={input}
        defaults={defaults}
        isReady={Object.keys(faults).length === 0}
        onFaults={setPreviewFaults}
      />
    </div>
  )
}

function without(record: Readonly<Record<string, string>>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== name))
}

/** What an error without a place is about. */
const CODES = { PROJECT_NOT_FOUND: 'project', RESOURCE_GROUP_NOT_FOUND: 'resourceGroup' }
