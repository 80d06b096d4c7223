import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useTitle } from '../../app/page.tsx'
import '../../design/controls.css'
import '../../design/table.css'
import '../../design/panel.css'
import './settings.css'

const SECTIONS = [
  { to: '/settings/switches', name: 'Switches' },
  { to: '/settings/defaults', name: 'Retry defaults' },
  { to: '/settings/quotas', name: 'Quotas' },
  { to: '/settings/webhooks', name: 'Webhooks' },
  { to: '/settings/projects', name: 'Projects' },
  { to: '/settings/members', name: 'Members' },
  { to: '/settings/tokens', name: 'Tokens' },
  { to: '/settings/audit', name: 'Audit log' },
] as const

/** The frame around the sections of the settings. */
export function SettingsPage() {
  const { pathname, search } = useLocation()
  const { project } = search as { project?: string }
  useTitle(`${SECTIONS.find(({ to }) => pathname.startsWith(to))?.name ?? 'Overview'} · Settings`)
  const tabs = useRef<HTMLElement>(null)
  useEffect(() => {
    // On a narrow screen the tabs are wider than the screen.
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [pathname])
  const kept = project === undefined ? {} : { project }
  return (
    <div className="list-page settings-page">
      <h1 tabIndex={-1}>Settings</h1>
      <nav className="tabs" aria-label="Settings" ref={tabs}>
        {SECTIONS.map(({ to, name }) => (
          <Link key={to} to={to} search={kept} className="tab" activeOptions={{ includeSearch: false }}>
            {name}
          </Link>
        ))}
      </nav>
      <Outlet />
    </div>
  )
}
