import { CSPProvider } from '@base-ui/react/csp-provider'
import { Dialog as Base } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'
import './overlay.css'

/** A dialog. Without `onClose` it cannot be dismissed. */
export function Dialog({ title, onClose, children }: { title: string; onClose?: () => void; children: ReactNode }) {
  return (
    <CSPProvider disableStyleElements>
      <Base.Root open onOpenChange={(open) => void (open || onClose?.())}>
        <Base.Portal>
          <Base.Backdrop className="dialog-backdrop" />
          <Base.Popup className="dialog">
            <Base.Title className="dialog-title">{title}</Base.Title>
            {children}
          </Base.Popup>
        </Base.Portal>
      </Base.Root>
    </CSPProvider>
  )
}
