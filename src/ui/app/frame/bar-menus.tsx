import { useLocation, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { logOut } from '../../api/session.ts'
import { ChevronIcon } from '../../design/icons.tsx'
import { LazyMenu } from '../act/lazy-menu.tsx'
import { useZone, ZONES, type Zone } from '../moments.ts'
import { chooseTheme, currentTheme, THEMES, type Theme } from './theme.ts'
import type { Viewer } from '../viewer.ts'
import type { MenuEntry } from '../../design/menu.tsx'

/** Pages that can be narrowed to a project. */
const OF_PROJECTS = [
  '/',
  '/chains',
  '/chains/new',
  '/retries',
  '/failures',
  '/deployments',
  '/sessions',
  '/settings/switches',
  '/settings/defaults',
  '/settings/quotas',
  '/settings/webhooks',
  '/settings/members',
  '/settings/tokens',
  '/settings/audit',
] as const

/** Which project is looked at. A token of one project sees that one alone. */
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
