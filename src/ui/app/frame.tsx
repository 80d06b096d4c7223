import { Outlet } from '@tanstack/react-router'

/** What surrounds every page. */
export function Frame() {
  return (
    <main>
      <Outlet />
    </main>
  )
}
