import type { MountInput } from '../../../client/schema-types.generated.ts'
import type { Draft } from '../../policy/policy-fields.ts'

/** Where a part of a mount is typed. */
export function mountField(index: number, part: 'volume' | 'path' | 'readOnly'): string {
  return `mount.${index}.${part}`
}

/** How many volumes there is room for: one more than were begun. */
export function mountRows(draft: Draft): number {
  const begun = Object.keys(draft).filter((field) => field.startsWith('mount.'))
  return Math.max(0, ...begun.map((field) => Number(field.split('.')[1]) + 1)) + 1
}

/** Where it is if nothing is typed. */
export function usualPath(volume: string): string {
  return `/mnt/${volume}`
}

/** The volumes that are chosen, each with the index of its row. */
export function mountsOf(draft: Draft): { index: number; mount: MountInput }[] {
  return Array.from({ length: mountRows(draft) }, (_, index) => {
    const volume = draft[mountField(index, 'volume')] ?? ''
    const path = draft[mountField(index, 'path')]?.trim() || usualPath(volume)
    return { index, mount: { volume, path, readOnly: draft[mountField(index, 'readOnly')] !== undefined } }
  }).filter(({ mount }) => mount.volume !== '')
}
