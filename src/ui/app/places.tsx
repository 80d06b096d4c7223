import { Link, type LinkProps, type ParsedLocation, useRouter } from '@tanstack/react-router'
import { type ReactNode, type RefObject, useEffect, useEffectEvent, useState } from 'react'

/** How a page looked when the user left it, so that the way back leads to the same place. */
interface Place {
  pathname: string
  /** The address of the link that had the focus. */
  focused: string | null
  /** The scrolled parts, by selector. */
  scrolled: ReadonlyMap<string, number>
  /** What parts of the page have saved, by name. */
  saved: ReadonlyMap<string, unknown>
}

const PLACES_MAX = 20

/** The places by key of the entry in the browser's history, the last one left last. */
const places = new Map<string, Place>()
/** The path at each position in the browser's history. */
const paths = new Map<number, string>()
/** Called when the page is left. */
const savers = new Map<string, () => unknown>()

function placeOf(location: ParsedLocation): Place | undefined {
  return places.get(location.state.__TSR_key ?? '')
}

/** What `useSaved` had saved under this name when the user left this entry of the history. */
export function useBefore<Value>(name: string): Value | undefined {
  const router = useRouter()
  const [before] = useState(() => placeOf(router.latestLocation)?.saved.get(name) as Value | undefined)
  return before
}

/** Saves the value when the user leaves the page. */
export function useSaved(name: string, value: unknown): void {
  const save = useEffectEvent(() => value)
  useEffect(() => {
    const saver = () => save()
    savers.set(name, saver)
    return () => {
      if (savers.get(name) === saver) savers.delete(name)
    }
  }, [name])
}

/**
 * Moves the focus to the heading of a new page, and on the way back to where it was, with the same rows in view.
 */
export function usePlaces(main: RefObject<HTMLElement | null>): void {
  const router = useRouter()
  useEffect(() => {
    let restoring: (() => void) | undefined
    const leave = router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
      const key = fromLocation?.state.__TSR_key
      if (!pathChanged || key === undefined || main.current === null) return
      places.delete(key)
      places.set(key, placeNow(fromLocation!.pathname, main.current))
      const [oldest] = places.keys()
      if (places.size > PLACES_MAX) places.delete(oldest!)
    })
    // After the page is drawn, as its code may have to be loaded first.
    const arrive = router.subscribe('onRendered', ({ fromLocation, toLocation, pathChanged }) => {
      paths.set(toLocation.state.__TSR_index, toLocation.pathname)
      if (!fromLocation || !pathChanged || main.current === null) return
      restoring?.()
      // A dialog that was opened while the page loaded keeps what is typed into it.
      if (document.activeElement?.closest('[role="dialog"], [role="alertdialog"]')) return
      main.current.querySelector('h1')?.focus()
      const place = placeOf(toLocation)
      if (place) restoring = restore(place, main.current)
    })
    return () => {
      leave()
      arrive()
      restoring?.()
    }
  }, [router, main])
}

function placeNow(pathname: string, main: HTMLElement): Place {
  const scrolled = [main, ...main.querySelectorAll('[role="table"][aria-label]')]
    .filter(({ scrollTop }) => scrollTop > 0)
    .map((element): [string, number] => [selectorOf(element), element.scrollTop])
  const active = document.activeElement
  return {
    pathname,
    focused: active !== null && main.contains(active) ? active.getAttribute('href') : null,
    scrolled: new Map(scrolled),
    saved: new Map([...savers].map(([name, save]) => [name, save()])),
  }
}

function selectorOf(element: Element): string {
  return element.id === 'main' ? '#main' : `[role="table"][aria-label="${element.getAttribute('aria-label')}"]`
}

/** Longer than a page takes to read its rows. */
const RESTORED_WITHIN_MS = 5_000
const INPUTS = ['pointerdown', 'keydown', 'wheel', 'touchstart'] as const

/** Waits for the rows, and restores scroll positions and focus, unless the user does something else first. */
function restore({ focused, scrolled }: Place, main: HTMLElement): () => void {
  const tryNow = () => {
    let isDone = true
    for (const [selector, top] of scrolled) {
      const element = document.querySelector(selector)
      element?.scrollTo({ top })
      if (!element || Math.abs(element.scrollTop - top) > 1) isDone = false
    }
    const link = focused === null ? null : main.querySelector<HTMLElement>(`[href="${CSS.escape(focused)}"]`)
    link?.focus({ preventScroll: true })
    if (isDone && (focused === null || link)) end()
  }
  const watching = new MutationObserver(tryNow)
  const timer = setTimeout(() => end(), RESTORED_WITHIN_MS)
  function end(): void {
    watching.disconnect()
    clearTimeout(timer)
    for (const input of INPUTS) document.removeEventListener(input, end)
  }
  for (const input of INPUTS) document.addEventListener(input, end, { passive: true })
  watching.observe(main, { childList: true, subtree: true })
  tryNow()
  return end
}

interface BackLinkProps {
  to: LinkProps['to'] & string
  className: string
  children: ReactNode
}

/** The link from a page to its list. If the user came from that list, it goes back to the same place in it. */
export function BackLink({ to, className, children }: BackLinkProps) {
  const router = useRouter()
  return (
    <Link
      to={to}
      className={className}
      onClick={(event) => {
        const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
        if (!isPlain || paths.get(router.latestLocation.state.__TSR_index - 1) !== to) return
        event.preventDefault()
        router.history.back()
      }}
    >
      {children}
    </Link>
  )
}
