import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type DetectedGpu, type GpuDriver, type GpuSample, GpuToolError, runTool } from './gpu-driver.ts'

/** AMD's GPUs, as `rocm-smi --json` reports them: one object per card, under names like `card0`. */
export function amdDriver(tool: string, devices = '/dev'): GpuDriver {
  return {
    slot: 'rocm.device',
    tool,
    async list(signal) {
      const args = ['--showuniqueid', '--showproductname', '--showmeminfo', 'vram', '--showbus', '--showdriverversion']
      return parseCards(await runTool(tool, [...args, '--json'], signal))
    },
    async sample(signal) {
      const args = ['--showuniqueid', '--showtemp', '--showmeminfo', 'vram', '--showuse', '--showpower']
      return parseSamples(await runTool(tool, [...args, '--json'], signal))
    },
    links: async () => () => 0,
    otherNodes(gpus) {
      const own = gpus.flatMap(({ index }) => renderNode(devices, index))
      const others = renderNodes(devices).filter((path) => !own.includes(path))
      return gpus.length === 0 && existsSync(join(devices, 'kfd')) ? [join(devices, 'kfd'), ...others] : others
    },
    nodes: (gpus) =>
      gpus.length === 0 ? [] : [join(devices, 'kfd'), ...gpus.flatMap(({ index }) => renderNode(devices, index))],
  }
}

type Card = Record<string, string>

function cardsOf(text: string): [number, Card][] {
  let cards: Record<string, Card>
  try {
    cards = JSON.parse(text) as Record<string, Card>
  } catch {
    throw new GpuToolError('rocm-smi: its answer is not JSON')
  }
  return Object.entries(cards).flatMap(([name, card]) => {
    const [, index] = /^card(\d+)$/.exec(name) ?? []
    return index === undefined ? [] : [[Number(index), card]]
  })
}

export function parseCards(text: string): DetectedGpu[] {
  const system = /"Driver version":\s*"([^"]*)"/.exec(text)?.[1] ?? ''
  return cardsOf(text).map(([index, card]) => ({
    slot: 'rocm.device',
    uuid: uuidOf(index, card),
    index,
    name: card['Card Series'] ?? card['Card series'] ?? card['Card Model'] ?? 'AMD GPU',
    memoryBytes: numberOf(card['VRAM Total Memory (B)']),
    driver: system,
    busId: card['PCI Bus'] ?? '',
    parent: null,
  }))
}

export function parseSamples(text: string): GpuSample[] {
  return cardsOf(text).map(([index, card]) => {
    const busy = numberOf(card['GPU use (%)'])
    return {
      uuid: uuidOf(index, card),
      temperatureCelsius: numberOf(card['Temperature (Sensor edge) (C)']),
      usedMemoryBytes: numberOf(card['VRAM Total Used Memory (B)']),
      utilization: busy === null ? null : busy / 100,
      powerWatts: numberOf(card['Average Graphics Package Power (W)']),
      uncorrectedErrors: null,
    }
  })
}

/** Programs name a card by this or by its index. Older cards have no unique id. */
function uuidOf(index: number, { 'Unique ID': id }: Card): string {
  return id !== undefined && /^0x[0-9a-f]+$/i.test(id) ? `GPU-${id.slice(2).toLowerCase()}` : `card${index}`
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null
}

/** The first render node has the number 128. */
function renderNode(devices: string, index: number): string[] {
  return renderNodes(devices).filter((path) => path === join(devices, `dri/renderD${128 + index}`))
}

function renderNodes(devices: string): string[] {
  try {
    const names = readdirSync(join(devices, 'dri')).filter((name) => name.startsWith('renderD'))
    return names.map((name) => join(devices, 'dri', name))
  } catch {
    return []
  }
}
