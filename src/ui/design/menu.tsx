import { CSPProvider } from '@base-ui/react/csp-provider'
import { Menu as Base } from '@base-ui/react/menu'
import type { ReactNode } from 'react'
import { Button, Keys } from './controls.tsx'
import './overlay.css'

export type MenuEntry =
  | 'line'
  | { text: string; keys?: string; isChosen?: boolean; isDisabled?: boolean; run: () => void }

/** A menu that is open from the start: it is loaded when the user opens it. */
export function Menu({ entries, children }: { entries: readonly MenuEntry[]; children: ReactNode }) {
  return (
    <CSPProvider disableStyleElements>
      <Base.Root defaultOpen>
        <Base.Trigger render={<Button kind="quiet" />}>{children}</Base.Trigger>
        <Base.Portal>
          <Base.Positioner className="menu-positioner" sideOffset={4} align="end">
            <Base.Popup className="menu">
              {entries.map((entry, index) =>
                entry === 'line' ? (
                  // oxlint-disable-next-line react/no-array-index-key -- equal ones
                  <Base.Separator key={index} className="menu-line" />
                ) : (
                  <Base.Item
                    key={entry.text}
                    className="menu-item"
                    disabled={entry.isDisabled ?? false}
                    aria-current={entry.isChosen === true ? 'true' : undefined}
                    onClick={entry.run}
                  >
                    <span>{entry.text}</span>
                    {entry.keys !== undefined && <Keys keys={entry.keys} />}
                  </Base.Item>
                ),
              )}
            </Base.Popup>
          </Base.Positioner>
        </Base.Portal>
      </Base.Root>
    </CSPProvider>
  )
}
