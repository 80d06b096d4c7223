import { useEffect, useEffectEvent } from 'react'
import { createStore } from '../api/store.ts'

export interface KeyBinding {
  /** A value of `KeyboardEvent.key`; the keys of a sequence are separated by spaces: `g c`. */
  keys: string
  /** The effect of the keys, for the list of keys. */
  does: string
  run: () => void
}

const OFF = 'reprise-keys-off'
const SEQUENCE_WITHIN_MS = 1_500

/** The keys that the page binds at present. */
export const boundKeys = createStore<readonly KeyBinding[]>([])
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
    const isSecond = sequence !== event.key && boundKeys.get().some(({ keys }) => keys === sequence)
    const found = bindings.find(({ keys }) => keys === sequence || (!isSecond && keys === event.key))
    if (found) {
      event.preventDefault()
      begun = undefined
      found.run()
    } else if (bindings.some(({ keys }) => keys.startsWith(`${event.key} `))) {
      begun = { key: event.key, at: event.timeStamp }
    }
  })
  const bind = useEffectEvent(() => {
    const own = bindings
    boundKeys.set([...boundKeys.get(), ...own])
    return () => boundKeys.set(boundKeys.get().filter((binding) => !own.includes(binding)))
  })
  useEffect(() => {
    const unbind = bind()
    const listener = (event: KeyboardEvent) => press(event)
    document.addEventListener('keydown', listener)
    return () => {
      document.removeEventListener('keydown', listener)
      unbind()
    }
  }, [])
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || (target.matches('input, textarea, select') && !target.matches('[type="checkbox"]')))
  )
}
