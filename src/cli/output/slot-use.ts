/** `cpu 3/8`, `mem 1.5/16 GiB`, `mem 512 MiB/16 GiB`: one unit for both where it is the same. */
export function slotUse({ slot, capacity, used }: { slot: string; capacity: string; used: string }): string {
  const all = slotAmount(slot, capacity)
  const now = slotAmount(slot, used)
  const [number, unit] = now.split(' ')
  return `${slot} ${used === '0' || (unit && all.endsWith(` ${unit}`)) ? number : now}/${all}`
}

/** `cpu 2, mem 512 MiB` */
export function slotList(slots: readonly { slot: string; amount: string }[]): string {
  return slots.map(({ slot, amount }) => `${slot} ${slotAmount(slot, amount)}`).join(', ')
}

const UNITS = ['TiB', 'GiB', 'MiB', 'KiB'] as const

/** As the server reads it, too: `512 MiB`; no unit for what is not bytes. */
function slotAmount(slot: string, amount: string): string {
  if (slot !== 'mem' && !slot.endsWith('.mem')) return amount
  const bytes = Number(amount)
  const at = UNITS.findIndex((_, index) => bytes >= 1024 ** (UNITS.length - index))
  return at < 0 ? amount : `${Number((bytes / 1024 ** (UNITS.length - at)).toFixed(2))} ${UNITS[at]}`
}
