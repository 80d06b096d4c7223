import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useQuery } from 'urql'
import { serverNow } from '../../api/clock.ts'
import { type Faults, NO_FAULTS, placeFaults } from '../../api/problem.ts'
import { useSend } from '../../app/act.ts'
import { Missing } from '../../app/detail.tsx'
import { IgnoredParameters } from '../../app/list/list-page.tsx'
import type { SearchOf } from '../../app/list/search.ts'
import { ProblemPanel, useTitle } from '../../app/page.tsx'
import { toast } from '../../app/toasts.tsx'
import { useViewer } from '../../app/viewer.ts'
import { Button } from '../../design/controls.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { type Draft, POLICY_SECTIONS } from '../../policy/policy-fields.ts'
import { PolicyInputs } from '../../policy/policy-form.tsx'
import {
  UiCreateScheduleDocument,
  UiCreateSessionDocument,
  UiEditedScheduleDocument,
  type UiEditedScheduleFragment,
  UiNewSessionDocument,
  type UiNewSessionQuery,
  UiUpdateScheduleDocument,
} from './new-session.generated.ts'
import { draftOfSchedule, updateOf } from './schedule-draft.ts'
import { defaultsOf, keepDraft, keptDraft, readSession, withDefaults } from './session-draft.ts'
import { SessionInputs } from './session-inputs.tsx'
import { SessionPanel } from './session-panel.tsx'
import { TimingInputs } from './timing-inputs.tsx'
import { readTiming, TIMING_PLACES } from './timing.ts'
import './new-session.css'

const sessionRoute = getRouteApi('/frame/chains/new')
const scheduleRoute = getRouteApi('/frame/schedules/new')
const editRoute = getRouteApi('/frame/schedules/$scheduleId/edit')

/** The form for a session, with a drawing of its retries. */
export function NewSessionPage() {
  return <SessionFormPage what="session" title="New session" search={sessionRoute.useSearch()} />
}

/** The form for a schedule, with a drawing of its next runs and their retries. */
export function NewSchedulePage() {
  return <SessionFormPage what="schedule" title="New schedule" search={scheduleRoute.useSearch()} />
}

/** The same form for an existing schedule. */
export function EditSchedulePage() {
  const { scheduleId } = editRoute.useParams()
  const [{ data, error }, again] = useQuery({
    query: UiEditedScheduleDocument,
    variables: { id: scheduleId },
    requestPolicy: 'network-only',
  })
  const schedule = data?.schedule
  if (error) return <ProblemPanel error={error} onAgain={() => again({ requestPolicy: 'network-only' })} />
  if (!data) return <Skeleton />
  if (!schedule) return <Missing noun="schedule" list="/schedules" />
  return <SessionFormPage what="schedule" title={`Change ${schedule.name}`} search={{}} changed={schedule} />
}

/** The kind of thing that the form creates. */
type Made = 'session' | 'schedule'

interface PageProps {
  what: Made
  title: string
  search: SearchOf<'newSession'>
  /** The schedule to change; otherwise a new thing is created. */
  changed?: UiEditedScheduleFragment
}

/** The page of the form; the form is shown once its choices are read. */
function SessionFormPage({ what, title, search, changed }: PageProps) {
  const { can, role } = useViewer()
  const isRefused = !can.createSessions
  const [{ data, error }, again] = useQuery({
    query: UiNewSessionDocument,
    requestPolicy: 'network-only',
    pause: isRefused,
  })
  useTitle(title)
  return (
    <div className="new-session">
      <h1 tabIndex={-1}>{title}</h1>
      <IgnoredParameters names={search.dropped} />
      {isRefused ? (
        <div className="problem-panel" role="status">
          <h2>
            Your token may not {changed ? 'change' : 'create'} {what}s
          </h2>
          <p>
            It has the role {role}, which only reads. A token with the role MEMBER can create {what}s; administrators
            create tokens.
          </p>
          <Link to={what === 'session' ? '/chains' : '/schedules'} className="button">
            To the {what === 'session' ? 'chains' : 'schedules'}
          </Link>
        </div>
      ) : data ? (
        <SessionForm {...{ what, title, search, changed }} known={data} />
      ) : error ? (
        <ProblemPanel error={error} onAgain={() => again({ requestPolicy: 'network-only' })} />
      ) : (
        <Skeleton />
      )}
    </div>
  )
}

/** All sections but the one for trying a policy. */
const SECTIONS = POLICY_SECTIONS.filter(([title]) => title !== 'Tried with')

function SessionForm({ what, title, known, search, changed }: PageProps & { known: UiNewSessionQuery }) {
  const navigate = useNavigate()
  const { project: own } = useViewer()
  const send = useSend()
  const form = useRef<HTMLFormElement>(null)
  const project = changed?.project.name ?? own?.name ?? search.project
  // The form as it is at first: what is not changed in it is not sent.
  const [original] = useState<Draft>(() => (changed ? draftOfSchedule(changed) : {}))
  const [draft, setDraft] = useState<Draft>(() =>
    changed ? original : { ...keptDraft(what), ...(project !== undefined && { project }) },
  )
  useEffect(() => {
    if (!changed) keepDraft(what, draft)
  }, [what, draft, changed])
  // The project that is chosen in the bar above the page.
  const [chosen, setChosen] = useState(project)
  if (chosen !== project) {
    setChosen(project)
    setDraft((last) => (project === undefined ? without(last, 'project') : { ...last, project }))
  }
  const [refused, setRefused] = useState<Faults>(NO_FAULTS)
  const [previewFaults, setPreviewFaults] = useState<Readonly<Record<string, string>>>({})
  // Missing fields are reported after the first try. Each try sets the focus to the first wrong field.
  const [tries, setTries] = useState(0)
  useEffect(() => {
    if (tries > 0) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [tries])
  const [isBusy, setBusy] = useState(false)
  const agents = known.agents.edges.map(({ node }) => node)
  const session = readSession(draft, agents)
  const timing = what === 'schedule' ? readTiming(draft, session.input.name, serverNow()) : null
  const { input } = session
  const unchanged = changed ? Object.keys(draft).filter((name) => draft[name] === original[name]) : []
  // A present value that the form cannot show stays as it is.
  const faults = withoutAll({ ...session.faults, ...timing?.faults }, unchanged)
  const places = timing ? { ...TIMING_PLACES, ...under('session', session.places) } : session.places
  const defaults = defaultsOf(known, draft['project'] ?? 'default')
  const { command: missing, cron: untimed, ...others } = faults
  const shown = {
    ...refused.fields,
    ...previewFaults,
    ...others,
    ...(missing !== undefined && (tries > 0 || draft['command']) && { command: missing }),
    ...(untimed !== undefined && (tries > 0 || draft['cron']) && { cron: untimed }),
  }
  const change = (name: string, text: string) => {
    setDraft((last) => (text === '' ? without(last, name) : { ...last, [name]: text }))
    setRefused(({ fields }) => ({ fields: without(fields, name), rest: null }))
  }
  const create = async () => {
    if (isBusy) return undefined
    if (Object.keys(faults).length > 0) return setTries((before) => before + 1)
    setBusy(true)
    const { done, problem } = timing
      ? changed
        ? await send(UiUpdateScheduleDocument, {
            input: updateOf({ schedule: changed, before: original, draft }, timing, session),
          })
        : await send(UiCreateScheduleDocument, { input: { ...timing.input, session: input } })
      : await send(UiCreateSessionDocument, { input })
    setBusy(false)
    if (problem) {
      const placed = placeFaults(problem, Object.keys(places), timing ? under('session', CODES, true) : CODES)
      setRefused({
        fields: Object.fromEntries(Object.entries(placed.fields).map(([path, words]) => [places[path]!, words])),
        rest: placed.rest,
      })
      return setTries((before) => before + 1)
    }
    if (!changed) keepDraft(what, {})
    if ('schedule' in done) {
      const { name, scheduleId } = done.schedule
      toast('done', `${name} is ${changed ? 'changed' : 'created'}.`)
      return navigate({ to: '/schedules/$scheduleId', params: { scheduleId }, replace: changed !== undefined })
    }
    toast('done', `${done.session.name} is created.`)
    return navigate({ to: '/chains/$chainId', params: { chainId: done.session.chainId }, search: {} })
  }
  const groups = known.resourceGroups.filter(({ allowedSessionTypes }) => allowedSessionTypes.includes('BATCH'))
  return (
    <div className="new-session-columns">
      <form
        ref={form}
        className="new-session-form"
        aria-label={title}
        onSubmit={(event) => {
          event.preventDefault()
          void create()
        }}
      >
        {timing && <TimingInputs draft={draft} faults={shown} name={input.name} onChange={change} />}
        <SessionInputs
          draft={draft}
          isRepeated={timing !== null}
          presentSecrets={changed?.session?.secretEnviron ?? []}
          faults={shown}
          projects={changed || own ? [project!] : known.projects.edges.map(({ node }) => node.name)}
          groups={groups.map(({ name }) => name)}
          volumes={known.volumes}
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
          {(changed ? draft !== original : Object.keys(draft).some((name) => name !== 'project')) && (
            <Button
              kind="quiet"
              onClick={() => {
                setDraft(changed ? original : project === undefined ? {} : { project })
                setRefused(NO_FAULTS)
                setTries(0)
              }}
            >
              Start over
            </Button>
          )}
          <Button kind="primary" type="submit" disabled={isBusy}>
            {changed ? 'Save' : `Create ${what}`}
          </Button>
        </div>
      </form>
      <SessionPanel
        draft={draft}
        input={input}
        timing={timing}
        defaults={defaults}
        isReady={Object.keys(faults).length === 0}
        isChange={changed !== undefined}
        onFaults={setPreviewFaults}
      />
    </div>
  )
}

function without(record: Readonly<Record<string, string>>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== name))
}

function withoutAll(record: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(record).filter(([each]) => !names.includes(each)))
}

/** The same places for an input that is nested in `field`. */
function under(field: string, places: Readonly<Record<string, string>>, isCodes = false): Record<string, string> {
  return Object.fromEntries(
    Object.entries(places).map(([path, each]) => (isCodes ? [path, `${field}.${each}`] : [`${field}.${path}`, each])),
  )
}

/** The field of an error that names no place, by its code. */
const CODES = { PROJECT_NOT_FOUND: 'project', RESOURCE_GROUP_NOT_FOUND: 'resourceGroup' }
