import { useStore } from '../../api/store.ts'
import { Button, Keys } from '../../design/controls.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { keysAreOff, turnKeys, useBoundKeys } from '../keys.ts'
import './palette.css'

export function KeyList({ onClose }: { onClose: () => void }) {
  const bindings = useBoundKeys()
  const off = useStore(keysAreOff)
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="key-list">
        {bindings.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              <span className="visually-hidden">{keys}</span>
              <Keys keys={keys} />
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label className="key-switch">
        <input type="checkbox" checked={!off} onChange={(event) => turnKeys(!event.currentTarget.checked)} />
        Use these keys
      </label>
      <Button kind="primary" onClick={onClose}>
        Close
      </Button>
    </Dialog>
  )
}
