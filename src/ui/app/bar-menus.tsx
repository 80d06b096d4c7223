import { useLocation, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState, type ReactNode } from 'react'
import { logOut } from '../api/session.ts'
import { Button } from '../design/button.tsx'
import { ChevronIcon } from '../design/icons.tsx'
import { chooseTheme, currentTheme, THEMES, type Theme } from './theme.ts'
import type { Viewer } from './viewer.ts'
import type { MenuEntry } from '../design/menu.tsx'

const Menu = lazy(async () => ({ default: (await import('../design/menu.tsx')).Menu }))

/** What a menu needs is loaded when the first one is opened. */
function LazyMenu({ entries, children }: { entries: MenuEntry[]; children: ReactNode }) {
  const [wanted, setWanted] = useState(false)
  const trigger = (
    <Button kind="quiet" aria-haspopup="menu" onClick={() => setWanted(true)}>
      {children}
    </Button>
  )
  if (!wanted) return trigger
  return (
    <Suspense fallback={trigger}>
      <Menu entries={entries}>{children}</Menu>
    </Suspense>
  )
}

/** Which project is looked at. A token of one project sees that one alone. */
export function ProjectMenu({ viewer, projects }: { viewer: Viewer; projects: readonly string[] }) {
  const navigate = useNavigate()
  const { pathname, search } = useLocation()
  const chosen = (search as { project?: string }).project
  if (viewer.project) return <span className="one-project">{viewer.project.name}</span>
  const choose = (project: string | undefined) =>
    void navigate({
      to: pathname === '/retries' ? '/retries' : '/chains',
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

export function AccountMenu({ viewer, onKeys }: { viewer: Viewer; onKeys: () => void }) {
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
      <span className="visually-hidden">: theme, keys, log out</span>
      <ChevronIcon />
    </LazyMenu>
  )
}
