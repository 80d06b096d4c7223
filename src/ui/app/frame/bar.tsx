import { useLocation, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { logOut } from '../../api/login.ts'
import { ChevronIcon } from '../../design/icons.tsx'
import type { MenuEntry } from '../../design/menu.tsx'
import { LazyMenu } from '../lazy-menu.tsx'
import { useZone, type Zone, ZONES } from '../moments.tsx'
import type { Viewer } from '../viewer.ts'
import './frame.css'

/** Pages with a filter for the project. */
const OF_PROJECTS = [
  '/',
  '/chains',
  '/chains/new',
  '/retries',
  '/failures',
  '/insights',
  '/usage',
  '/advice',
  '/deployments',
  '/sessions',
  '/settings/switches',
  '/settings/defaults',
  '/settings/quotas',
  '/settings/webhooks',
  '/settings/projects',
  '/settings/members',
  '/settings/tokens',
  '/settings/audit',
] as const

/** The menu of projects. A token of one project sees only that one. */
export function ProjectMenu({ viewer, projects }: { viewer: Viewer; projects: readonly string[] }) {
  const navigate = useNavigate()
  const { pathname, search } = useLocation()
  const chosen = (search as { project?: string }).project
  if (viewer.project) return <span className="one-project">{viewer.project.name}</span>
  const choose = (project: string | undefined) =>
    void navigate({
      to: OF_PROJECTS.find((each) => each === pathname) ?? '/chains',
      search: (before) => ({ ...before, dropped: undefined, project }),
    })
  const entries = [undefined, ...projects].map((project) => ({
    text: project ?? 'All projects',
    isChosen: project === chosen,
    run: () => choose(project),
  }))
  return (
    <LazyMenu entries={entries}>
      <span className="visually-hidden">Project: </span>
      <span className="bar-text">{chosen ?? 'All projects'}</span>
      <ChevronIcon />
    </LazyMenu>
  )
}

const THEME_NAMES: Record<Theme, string> = {
  system: 'Theme of the system',
  light: 'Light theme',
  dark: 'Dark theme',
}

const ZONE_NAMES: Record<Zone, string> = {
  local: 'Times of this browser',
  utc: 'Times in UTC',
}

export function AccountMenu({ viewer, onKeys }: { viewer: Viewer; onKeys: () => void }) {
  const [zone, chooseZone] = useZone()
  const [theme, setTheme] = useState(currentTheme)
  const name = viewer.user?.name ?? viewer.name
  const entries: MenuEntry[] = [
    ...THEMES.map((each) => ({
      text: THEME_NAMES[each],
      isChosen: each === theme,
      run: () => {
        chooseTheme(each)
        setTheme(each)
      },
    })),
    'line',
    ...ZONES.map((each) => ({
      text: ZONE_NAMES[each],
      isChosen: each === zone,
      run: () => chooseZone(each),
    })),
    'line',
    { text: 'Keys', keys: '?', run: onKeys },
    { text: 'API in GraphiQL', run: () => location.assign('/graphql') },
    'line',
    { text: 'Log out', run: () => void logOut() },
  ]
  return (
    <LazyMenu entries={entries}>
      <span className="account-initial" aria-hidden="true">
        {name.slice(0, 1).toUpperCase()}
      </span>
      <span className="account-name">
        {name} <span className="account-role">{viewer.role.toLowerCase()}</span>
      </span>
      <span className="visually-hidden">: theme, times, keys, log out</span>
      <ChevronIcon />
    </LazyMenu>
  )
}

const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const YEAR_SECONDS = 365 * 24 * 3600

function currentTheme(): Theme {
  const { theme } = document.documentElement.dataset
  return THEMES.find((each) => each === theme) ?? 'system'
}

/** Stores the theme in a cookie, so that the server sends the next page in the right colours at once. */
function chooseTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // oxlint-disable-next-line unicorn/no-document-cookie -- the Cookie Store API is not in all browsers
  document.cookie = `reprise_theme=${theme}; Path=/; SameSite=Lax; Max-Age=${YEAR_SECONDS}${secure}`
}
