import { Link, Outlet, useLocation, useNavigate, useRouter } from '@tanstack/react-router'
import { type SubmitEvent, useEffect, useEffectEvent, useRef, useState } from 'react'
import { useQuery } from 'urql'
import { setServerNow } from '../../api/clock.ts'
import { session } from '../../api/login.ts'
import { isUnauthenticated } from '../../api/problem.ts'
import { useStore } from '../../api/store.ts'
import { Button, Keys, typed } from '../../design/controls.tsx'
import {
  AdviceIcon,
  AgentsIcon,
  ChainsIcon,
  CrossIcon,
  DeploymentsIcon,
  FailuresIcon,
  GroupsIcon,
  InsightsIcon,
  MenuIcon,
  OverviewIcon,
  PolicyIcon,
  BulkActionsIcon,
  QueueIcon,
  SchedulesIcon,
  SearchIcon,
  SessionsIcon,
  SettingsIcon,
  UsageIcon,
  WaitingIcon,
} from '../../design/icons.tsx'
import { UiViewerDocument, type UiViewerQuery } from '../app.generated.ts'
import { useKeys } from '../keys.ts'
import { lazyDialog } from '../lazy-part.tsx'
import { ProblemPanel } from '../page.tsx'
import { preloadWhenIdle } from '../part-loader.ts'
import { usePlaces } from '../places.tsx'
import { Toasts } from '../toasts.tsx'
import { ViewerContext } from '../viewer.ts'
import { AccountMenu, ProjectMenu } from './bar.tsx'
import { Connection, Heartbeat, NewVersion, StaleNotice, useStale } from './connection.tsx'
import './frame.css'

const KeyList = lazyDialog(() => import('./key-list.tsx'), 'KeyList')
const Palette = lazyDialog(() => import('./palette.tsx'), 'Palette')
const LoginDialog = lazyDialog(() => import('./login-dialog.tsx'), 'LoginDialog')

/** The pages of the navigation. */
const PAGES = [
  { to: '/', name: 'Overview', keys: 'g o', icon: OverviewIcon },
  { to: '/chains', name: 'Chains', keys: 'g c', icon: ChainsIcon },
  { to: '/groups', name: 'Groups', keys: 'g g', icon: GroupsIcon },
  { to: '/sessions', name: 'Sessions', keys: 'g e', icon: SessionsIcon },
  { to: '/queue', name: 'Queue', keys: 'g q', icon: QueueIcon },
  { to: '/retries', name: 'Retries', keys: 'g r', icon: WaitingIcon },
  { to: '/failures', name: 'Failures', keys: 'g f', icon: FailuresIcon },
  { to: '/insights', name: 'Insights', keys: 'g i', icon: InsightsIcon },
  { to: '/advice', name: 'Advice', keys: 'g v', icon: AdviceIcon },
  { to: '/usage', name: 'Usage', keys: 'g u', icon: UsageIcon },
  { to: '/schedules', name: 'Schedules', keys: 'g h', icon: SchedulesIcon },
  { to: '/agents', name: 'Agents', keys: 'g a', icon: AgentsIcon },
  { to: '/deployments', name: 'Deployments', keys: 'g d', icon: DeploymentsIcon },
  { to: '/bulk-actions', name: 'Bulk actions', keys: 'g b', icon: BulkActionsIcon },
  { to: '/policy', name: 'Policy', keys: 'g p', icon: PolicyIcon },
  { to: '/settings', name: 'Settings', keys: 'g s', icon: SettingsIcon },
] as const

/** The frame around every page, once the viewer is known. */
export function Frame() {
  const [{ data, error, fetching }, again] = useQuery({ query: UiViewerDocument })
  const isStranger = !data && error !== undefined && isUnauthenticated(error)
  const router = useRouter()
  useEffect(() => {
    if (data) setServerNow(data.now)
  }, [data])
  useEffect(() => {
    // Once: this page stays until that of the login is loaded.
    if (isStranger) void router.navigate({ to: '/login', search: { to: router.latestLocation.href }, replace: true })
  }, [isStranger, router])
  if (data) return <Framed data={data} />
  if (error && !isStranger)
    return <ProblemPanel error={error} onAgain={() => again({ requestPolicy: 'network-only' })} />
  // The same as in index.html, so that nothing moves.
  return (
    <div className="frame" aria-busy={fetching}>
      <header className="bar">
        <span className="brand">
          <Mark />
          <span>Reprise</span>
        </span>
      </header>
      <div className="rail" />
    </div>
  )
}

/** The part that is open over the page or beside it. */
type Opened = 'keys' | 'rail' | 'palette'

function Framed({ data }: { data: UiViewerQuery }) {
  const { pathname, search } = useLocation()
  const { project } = search as { project?: string }
  // The chosen project is kept on all pages.
  const kept = project === undefined ? {} : { project }
  const [opened, setOpened] = useState<{ what: Opened; on: string } | null>(null)
  // An opened dialog closes when the page changes.
  const open = opened?.on === pathname ? opened.what : null
  const setOpen = (what: Opened | null) => setOpened(what && { what, on: pathname })
  const isGone = useStore(session) === 'gone'
  const isStale = useStale() !== null
  const navigate = useNavigate()
  const main = useRef<HTMLElement>(null)
  usePlaces(main)
  useEffect(() => preloadWhenIdle(), [pathname])
  useKeys([
    ...PAGES.map(({ to, name, keys }) => ({
      keys,
      does: `go to ${name}`,
      run: () => void navigate({ to, search: kept }),
    })),
    {
      keys: '/',
      does: 'search',
      isGeneral: true,
      run: () => document.querySelector<HTMLInputElement>('#search')?.focus(),
    },
    { keys: '?', does: 'show these keys', run: () => setOpen('keys') },
    { keys: 'ctrl k', does: 'find a chain, a page or an action', run: () => setOpen('palette') },
  ])
  usePaletteKey(() => setOpen('palette'))
  return (
    <ViewerContext value={data.viewer}>
      <div className="frame" data-rail={open === 'rail' || undefined}>
        <a className="skip" href="#main">
          Skip to the page
        </a>
        <header className="bar">
          <Button
            kind="quiet"
            icon
            className="rail-toggle"
            aria-label={open === 'rail' ? 'Close the navigation' : 'Open the navigation'}
            aria-expanded={open === 'rail'}
            onClick={() => setOpen(open === 'rail' ? null : 'rail')}
          >
            {open === 'rail' ? <CrossIcon /> : <MenuIcon />}
          </Button>
          <Link to="/" className="brand" aria-label="Reprise, to the overview">
            <Mark />
            <span>Reprise</span>
          </Link>
          <ProjectMenu viewer={data.viewer!} projects={data.projects.edges.map(({ node }) => node.name)} />
          <Search />
          <Connection />
          <AccountMenu viewer={data.viewer!} onKeys={() => setOpen('keys')} />
        </header>
        <nav className="rail" aria-label="Pages">
          {PAGES.map(({ to, name, keys, icon: Icon }) => (
            <Link
              key={to}
              to={to}
              search={kept}
              activeOptions={{ exact: to === '/' }}
              className="rail-link"
              title={name}
            >
              <Icon />
              <span className="rail-name">{name}</span>
              <span className="rail-keys">
                <Keys keys={keys} />
              </span>
            </Link>
          ))}
        </nav>
        <main id="main" className="page" ref={main} tabIndex={-1} data-stale={isStale || undefined}>
          <NewVersion />
          <StaleNotice />
          <Outlet />
        </main>
        <Heartbeat />
        <Toasts />
        <>
          {open === 'keys' && <KeyList onClose={() => setOpen(null)} />}
          {open === 'palette' && <Palette project={project} onClose={() => setOpen(null)} />}
          {isGone && <LoginDialog />}
        </>
      </div>
    </ViewerContext>
  )
}

/** Binds ctrl k, on a Mac command k. It works in fields too, and where keys of one letter are off. */
function usePaletteKey(onOpen: () => void): void {
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
    event.preventDefault()
    if (document.querySelector('[role="dialog"], [role="alertdialog"]') === null) onOpen()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => press(event)
    document.addEventListener('keydown', listener)
    return () => document.removeEventListener('keydown', listener)
  }, [])
}

/** The search field: words of names and labels, kept in the address of the list of chains. */
function Search() {
  const navigate = useNavigate()
  const { search } = useLocation()
  const q = (search as { q?: string }).q ?? ''
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const words = typed(event.currentTarget, 'q')
    void navigate({ to: '/chains', search: (before) => ({ ...before, dropped: undefined, q: words || undefined }) })
  }
  return (
    <form className="search" role="search" onSubmit={submit}>
      <SearchIcon />
      <input
        key={q}
        id="search"
        name="q"
        type="search"
        defaultValue={q}
        placeholder="Search names and labels"
        aria-label="Search names and labels"
        autoComplete="off"
        spellCheck="false"
        maxLength={200}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur()
        }}
      />
      <span className="search-key">
        <Keys keys="/" />
      </span>
    </form>
  )
}

function Mark() {
  return (
    <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <g stroke="var(--on-accent)" strokeLinecap="round" fill="var(--on-accent)">
        <path d="M9.5 10v12" strokeWidth="3.4" />
        <path d="M15 10v12" strokeWidth="1.8" />
        <circle cx="20.8" cy="12.8" r="1.9" strokeWidth="0" />
        <circle cx="20.8" cy="19.2" r="1.9" strokeWidth="0" />
      </g>
    </svg>
  )
}
