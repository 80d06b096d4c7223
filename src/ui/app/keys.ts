import { useEffect, useEffectEvent } from 'react'
import { createStore, useStore } from '../api/store.ts'

export interface KeyBinding {
  /** A value of `KeyboardEvent.key`; the keys of a sequence are separated by spaces: `g c`. */
  keys: string
  /** The effect of the keys, for the list of keys. */
  does: string
  /** Another binding of the same keys is used instead. */
  isGeneral?: true
  run: () => void
}

const OFF = 'reprise-keys-off'
const SEQUENCE_WITHIN_MS = 1_500

const allBound = createStore<readonly KeyBinding[]>([])

/** The keys that the page binds at present, each once. */
export function useBoundKeys(): readonly KeyBinding[] {
  const all = useStore(allBound)
  const used = all.filter((each) => !isReplaced(each))
  return used.filter(({ keys }, index) => used.findIndex((each) => each.keys === keys) === index)
}

/** Whether a part of the page has bound the same keys. */
function isReplaced({ keys, isGeneral }: KeyBinding): boolean {
  return isGeneral === true && allBound.get().some((each) => each.keys === keys && !each.isGeneral)
}

/** Keys of one letter can be turned off, because speech input types letters by mistake. */
export const keysAreOff = createStore(localStorage.getItem(OFF) === 'true')

export function turnKeys(off: boolean): void {
  localStorage.setItem(OFF, String(off))
  keysAreOff.set(off)
}

let begun: { key: string; at: number } | undefined

/** Binds keys without a modifier. They do nothing while a field has the focus or a dialog is open. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (keysAreOff.get() || document.querySelector('[role="dialog"], [role="menu"]')) return
    const sequence = begun && event.timeStamp - begun.at < SEQUENCE_WITHIN_MS ? `${begun.key} ${event.key}` : event.key
    // The second key of a sequence does not count as a single key, even if another part of the page has bound the
    // sequence.
    const isSecond = sequence !== event.key && allBound.get().some(({ keys }) => keys === sequence)
    const found = bindings.find(({ keys }) => keys === sequence || (!isSecond && keys === event.key))
    if (found && isReplaced(found)) return
    if (found) {
      event.preventDefault()
      begun = undefined
      found.run()
    } else if (bindings.some(({ keys }) => keys.startsWith(`${event.key} `))) {
      begun = { key: event.key, at: event.timeStamp }
    }
  })
  const run = useEffectEvent((keys: string) => bindings.find((each) => each.keys === keys)?.run())
  const present = useEffectEvent(() => bindings)
  useEffect(() => {
    // The keys stay the same while the page is open; what they do depends on its present state.
    const own = present().map((each) => ({ ...each, run: () => run(each.keys) }))
    allBound.set([...allBound.get(), ...own])
    const listener = (event: KeyboardEvent) => press(event)
    document.addEventListener('keydown', listener)
    return () => {
      document.removeEventListener('keydown', listener)
      allBound.set(allBound.get().filter((binding) => !own.includes(binding)))
    }
  }, [])
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || (target.matches('input, textarea, select') && !target.matches('[type="checkbox"]')))
  )
}
