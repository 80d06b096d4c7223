import { lazy, type ReactNode, Suspense, useState } from 'react'
import { Button } from '../design/controls.tsx'
import type { MenuEntry } from '../design/menu.tsx'

const Menu = lazy(async () => ({ default: (await import('../design/menu.tsx')).Menu }))

/** A menu whose code is loaded when the first one is opened. */
export function LazyMenu({ entries, children }: { entries: MenuEntry[]; children: ReactNode }) {
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
