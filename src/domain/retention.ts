/** Bounds of what is kept, by age and by number; null sets no bound. */
export interface Retention {
  ageSeconds: number | null
  count: number | null
}

export const FOREVER: Retention = { ageSeconds: null, count: null }

const SECONDS = { h: 3_600, d: 86_400, w: 604_800, y: 31_536_000 } as const
const AGE = /^([1-9]\d{0,4})([hdwy])$/
const COUNT = /^\d{1,12}$/

/** Parses `90d`, `1000000`, `90d,1000000` (whichever comes first) or `forever`; undefined for anything else. */
export function parseRetention(text: string): Retention | undefined {
  if (text === 'forever') return FOREVER
  const retention: Retention = { ageSeconds: null, count: null }
  for (const part of text.split(',').map((each) => each.trim())) {
    const [, number, unit] = AGE.exec(part) ?? []
    if (number !== undefined && retention.ageSeconds === null)
      retention.ageSeconds = Number(number) * SECONDS[unit as keyof typeof SECONDS]
    else if (COUNT.test(part) && retention.count === null) retention.count = Number(part)
    else return undefined
  }
  return retention
}

export function isBounded({ ageSeconds, count }: Retention): boolean {
  return ageSeconds !== null || count !== null
}
