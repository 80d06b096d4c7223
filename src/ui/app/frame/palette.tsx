import { Autocomplete } from '@base-ui/react/autocomplete'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { Dialog } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { serverNow } from '../../api/clock.ts'
import { Keys } from '../../design/controls.tsx'
import { UiPaletteDocument } from '../app.generated.ts'
import { relativeMoment } from '../../words/time.ts'
import { type KeyBinding, useBoundKeys } from '../keys.ts'
import '../../design/overlay.css'
import './palette.css'

interface Entry {
  id: string
  label: string
  /** The kind of entry, or the keys that do the same. */
  kind: string | { keys: string }
  run: () => void
}

const ASKED_AFTER_MS = 150
/** The keys that open it. */
const PALETTE_KEYS = 'ctrl k'

/** Finds chains by name or label, pages, and actions of the open page. */
export function Palette({ project, onClose }: { project: string | undefined; onClose: () => void }) {
  const [text, setText] = useState('')
  const bindings = useBoundKeys()
  const chains = useChains(text.trim(), project)
  const wanted = text.trim().toLowerCase()
  const actions = bindings
    .filter(({ keys, does }) => keys !== PALETTE_KEYS && does.toLowerCase().includes(wanted))
    .map(actionOf)
  const entries = [...actions, ...chains]
  return (
    <CSPProvider disableStyleElements>
      <Dialog.Root open onOpenChange={(open) => void (open || onClose())}>
        <Dialog.Portal>
          <Dialog.Backdrop className="dialog-backdrop" />
          <Dialog.Popup className="palette" aria-label="Go to or do">
            <Autocomplete.Root
              open
              inline
              items={entries}
              filter={null}
              itemToStringValue={(entry: Entry) => entry.label}
              autoHighlight="always"
              keepHighlight
              value={text}
              onValueChange={(value, { reason }) => void (reason === 'item-press' || setText(value))}
            >
              <Autocomplete.Input
                className="palette-input"
                aria-label="A chain, a page or an action"
                placeholder="A chain, a page or an action"
                autoComplete="off"
                spellCheck="false"
                maxLength={200}
              />
              <Autocomplete.Empty className="palette-empty">Nothing matches these words.</Autocomplete.Empty>
              <Autocomplete.List className="palette-list">
                {(entry: Entry) => (
                  <Autocomplete.Item
                    key={entry.id}
                    value={entry}
                    className="palette-item"
                    onClick={() => {
                      onClose()
                      entry.run()
                    }}
                  >
                    <span className="palette-label">{entry.label}</span>
                    {typeof entry.kind === 'string' ? (
                      <span className="palette-kind">{entry.kind}</span>
                    ) : (
                      <Keys keys={entry.kind.keys} />
                    )}
                  </Autocomplete.Item>
                )}
              </Autocomplete.List>
            </Autocomplete.Root>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </CSPProvider>
  )
}

function actionOf({ keys, does, run }: KeyBinding): Entry {
  return { id: keys, label: `${does.slice(0, 1).toUpperCase()}${does.slice(1)}`, kind: { keys }, run }
}

function useChains(typed: string, project: string | undefined): Entry[] {
  const navigate = useNavigate()
  const [words, setWords] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setWords(typed), ASKED_AFTER_MS)
    return () => clearTimeout(timer)
  }, [typed])
  const [{ data }] = useQuery({
    query: UiPaletteDocument,
    variables: { words, project },
    pause: words === '',
    requestPolicy: 'network-only',
  })
  if (typed === '' || words === '') return []
  return (data?.chains.edges ?? []).map(({ node: { chainId, name, newestActivityAt } }) => ({
    id: chainId,
    label: name,
    // Several chains may have the same name.
    kind: `chain, ${relativeMoment(Date.parse(newestActivityAt), serverNow())}`,
    run: () => void navigate({ to: '/chains/$chainId', params: { chainId } }),
  }))
}
