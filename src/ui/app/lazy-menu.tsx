import { type ReactNode, useState } from 'react'
import { Button } from '../design/controls.tsx'
import type { MenuEntry } from '../design/menu.tsx'
import { PartMissing, usePart } from './lazy-part.tsx'
import { lazyPart, preloadLater } from './part-loader.ts'

const menu = lazyPart(() => import('../design/menu.tsx'), 'Menu')
preloadLater(menu)

/** A menu whose code is loaded when the first one is opened, or when the page is idle. */
export function LazyMenu({ entries, children }: { entries: MenuEntry[]; children: ReactNode }) {
  const [isWanted, setWanted] = useState(false)
  const state = usePart(menu, isWanted)
  if (isWanted && state.kind === 'loaded') return <state.Component entries={entries}>{children}</state.Component>
  return (
    <>
      <Button kind="quiet" aria-haspopup="menu" onClick={() => setWanted(true)}>
        {children}
      </Button>
      {isWanted && state.kind === 'failed' && (
        <PartMissing part={menu} why={state.why} noun="menu" onClose={() => setWanted(false)} />
      )}
    </>
  )
}
