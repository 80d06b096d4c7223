import { type RefObject, useEffect, useRef, useState } from 'react'

/** The width of an element in whole pixels, for drawings that fill it; 0 until it is known. */
export function useWidth(): readonly [RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)))
    observer.observe(ref.current!)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}
