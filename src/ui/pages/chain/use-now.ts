import { useEffect, useState } from 'react'

/**
 * The server's clock, by which all times are: it said `serverNow` when that was read. Each second while something goes
 * on; of what has ended it stands still.
 */
export function useNow(serverNow: string | undefined, goesOn: boolean): number {
  const [ahead, setAhead] = useState(0)
  const [now, setNow] = useState(() => (serverNow === undefined ? Date.now() : Date.parse(serverNow)))
  useEffect(() => {
    if (serverNow === undefined) return
    setAhead(Date.parse(serverNow) - Date.now())
    setNow(Date.parse(serverNow))
  }, [serverNow])
  useEffect(() => {
    if (!goesOn) return
    const timer = setInterval(() => setNow(Date.now() + ahead), 1000)
    return () => clearInterval(timer)
  }, [ahead, goesOn])
  return now
}
