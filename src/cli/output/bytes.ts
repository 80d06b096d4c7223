const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** Units of 1024, as `mem` counts them: `512 B`, `1.5 MiB`, `104 MiB`. */
export function binaryBytes(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= 1023.5 && unit < UNITS.length - 1) {
    size /= 1024
    unit++
  }
  return `${size < 9.95 ? Number(size.toFixed(1)) : Math.round(size)} ${UNITS[unit]}`
}
