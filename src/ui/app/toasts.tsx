import { createStore, useStore } from '../api/store.ts'
import { Button } from '../design/controls.tsx'
import { CrossIcon } from '../design/icons.tsx'
import './app.css'

interface Toast {
  id: number
  kind: 'done' | 'refused'
  text: string
}

const SHOWN_MS = 6_000
const toasts = createStore<readonly Toast[]>([])
let lastId = 0

/** Shows the result of an action. A refusal stays until it is dismissed. */
export function toast(kind: Toast['kind'], text: string): void {
  const id = ++lastId
  toasts.set([...toasts.get().slice(-3), { id, kind, text }])
  if (kind === 'done') setTimeout(() => dismiss(id), SHOWN_MS)
}

function dismiss(id: number): void {
  toasts.set(toasts.get().filter((each) => each.id !== id))
}

export function Toasts() {
  return (
    <div className="toasts" role="status" aria-live="polite">
      {useStore(toasts).map(({ id, kind, text }) => (
        <div key={id} className={`toast ${kind}`}>
          <span>{text}</span>
          <Button kind="quiet" icon aria-label="Dismiss" onClick={() => dismiss(id)}>
            <CrossIcon />
          </Button>
        </div>
      ))}
    </div>
  )
}
