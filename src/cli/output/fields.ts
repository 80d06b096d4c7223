import type { Terminal } from './terminal.ts'

/** Names and values in lines; null and empty values are left out. */
export function formatFields(fields: readonly (readonly [string, string | null | undefined])[], terminal: Terminal) {
  const given = fields.filter(([, value]) => value !== null && value !== undefined && value !== '')
  const width = Math.max(...given.map(([name]) => name.length))
  return given
    .map(([name, value]) => `${terminal.style('dim', name.padEnd(width))}  ${value!.replaceAll('\n', ' ')}`)
    .join('\n')
}
