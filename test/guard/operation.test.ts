import { execFile } from 'node:child_process'
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parser } from '@prometheus-io/lezer-promql'
import { validate as statefulSet } from 'kubernetes-models/_schemas/IoK8sApiAppsV1StatefulSet'
import { validate as namespace } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Namespace'
import { validate as service } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service'
import { validate as disruptionBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { createMetrics } from '../../src/observability/metrics.ts'
import { loadConfig } from '../../src/program/config.ts'
import { findProgram, whyNotInstalled } from '../support/distribution.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { codeIn, tableRows } from './document-tables.ts'
import { ROOT } from './source-files.ts'

/** The dashboard and the alert rules ask for metrics, and for labels, that there are. */
describe('the page on operation', async () => {
  interface Dashboard {
    panels: { type: string; title: string; description?: string; targets?: { expr: string }[] }[]
  }
  interface Rules {
    groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[]
  }

  const dashboard = JSON.parse(await readFile(join(ROOT, 'docs/operation/grafana-dashboard.json'), 'utf8')) as Dashboard
  const rules = (
    parse(await readFile(join(ROOT, 'docs/operation/prometheus-alerts.yml'), 'utf8')) as Rules
  ).groups.flatMap((group) => group.rules)
  const panels = dashboard.panels.filter(({ type }) => type !== 'row')

  /** Labels that Prometheus itself adds. */
  const ADDED = ['instance', 'job', 'le']

  const labelsByName = new Map<string, readonly string[]>()
  for (const { name, type, labelNames = [] } of createMetrics({
    process: true,
  }).registry.getMetricsAsArray() as unknown as {
    name: string
    type: string
    labelNames?: string[]
  }[]) {
    const names = type === 'histogram' ? ['bucket', 'count', 'sum'].map((part) => `${name}_${part}`) : [name]
    for (const each of names) labelsByName.set(each, [...labelNames, ...ADDED])
  }

  function inspect(expression: string): { metrics: string[]; labels: string[]; faults: number } {
    const text = expression.replaceAll('$__rate_interval', '5m')
    const found = { metrics: [] as string[], labels: [] as string[], faults: 0 }
    parser.parse(text).iterate({
      enter(node) {
        if (node.type.isError) found.faults++
        if (node.name === 'Identifier') found.metrics.push(text.slice(node.from, node.to))
        if (node.name === 'LabelName') found.labels.push(text.slice(node.from, node.to))
      },
    })
    return found
  }

  const expressions = [
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [`panel ${title}`, expr] as const)),
    ...rules.map(({ alert, expr }) => [`alert ${alert}`, expr] as const),
  ]

  test.each(expressions)('%s: %s', (_name, expression) => {
    const { metrics, labels, faults } = inspect(expression)
    expect(faults).toBe(0)
    expect(metrics.length).toBeGreaterThan(0)
    expect(metrics.filter((metric) => !labelsByName.has(metric))).toEqual([])
    const known = metrics.flatMap((metric) => labelsByName.get(metric)!)
    expect(labels.filter((label) => !known.includes(label))).toEqual([])
  })

  test('docs/operation.md: the scraped path is served', async () => {
    const [block] = await blocksOfTest('test/guard/operation.test.ts')
    const { scrape_configs: jobs, rule_files: files } = parse(block!.text) as {
      scrape_configs: { metrics_path?: string; http_sd_configs?: { url: string }[] }[]
      rule_files: string[]
    }
    const discovered = jobs.flatMap((job) => job.http_sd_configs ?? []).map(({ url }) => new URL(url).pathname)
    const routes = (await tableRows('docs/rest.md')).map(([, path]) => codeIn(path!)[0])
    expect(jobs.length).toBe(discovered.length + 1)
    expect(discovered.filter((path) => !routes.includes(path))).toEqual([])
    for (const file of files) await access(join(ROOT, 'docs/operation', file))
  })

  describe('nothing is left unseen', () => {
    test('there are panels and alerts', () => {
      expect(panels.length).toBeGreaterThan(15)
      expect(rules.length).toBeGreaterThan(8)
      for (const { annotations } of rules) expect(annotations.summary).toMatch(/\.$|which$|why\.?$/)
    })

    test('each metric of ours is on the dashboard or in a rule', () => {
      const shown = new Set(expressions.flatMap(([, expression]) => inspect(expression).metrics))
      const own = [...createMetrics().registry.getMetricsAsArray()].map(({ name }) => name)
      const unseen = own.filter((name) => ![name, `${name}_bucket`, `${name}_count`].some((part) => shown.has(part)))
      expect(unseen).toEqual([])
    })
  })
})

/** docs/operation/kubernetes.yaml: what the API server would say of it, and what it would not. */
describe('Kubernetes', async () => {
  /** With the schemas of Kubernetes' API. */
  const SCHEMAS: Readonly<Record<string, (data: unknown) => boolean>> = {
    Namespace: namespace,
    Service: service,
    StatefulSet: statefulSet,
    PodDisruptionBudget: disruptionBudget,
  }
  /** YAML 1.1, as kubectl reads it: 0440 is octal. */
  const text = await readFile(join(ROOT, 'docs/operation/kubernetes.yaml'), 'utf8')
  const manifests = parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS())
  const sets = manifests.filter(({ kind }) => kind === 'StatefulSet')

  test('there are servers and agents', () => {
    expect(sets.map(({ metadata }) => metadata.name)).toEqual(['server', 'agent'])
  })

  test.each(manifests.map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]))(
    '%s follows the schema',
    (_name, manifest) => {
      const validate = SCHEMAS[manifest.kind]!
      const read = new Set<string>()
      const valid = validate(recordingReads(manifest, '', read))
      expect([valid, (validate as { errors?: unknown }).errors ?? null]).toEqual([true, null])
      expect(pathsIn(manifest, '').filter((path) => !read.has(path))).toEqual([])
      expect(validate({ ...manifest, metadata: { labels: 'none' } })).toBe(false)
    },
  )

  describe.each(sets)('pods of $metadata.name', ({ spec, metadata }) => {
    const pod = spec.template.spec
    const [container] = pod.containers

    test('may run where pods are restricted, and write to nothing but their volumes', () => {
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect([pod.automountServiceAccountToken, pod.shareProcessNamespace]).toEqual([false, true])
    })

    test('are given a valid configuration, and no variables of services beside it', () => {
      expect(pod.enableServiceLinks).toBe(false)
      const named = Object.fromEntries(container.env.map(({ name, value }: any) => [name, value ?? example(name)]))
      expect(loadConfig(named).warnings).toEqual([])
    })

    test('have volumes for their mounts, and find secrets that they may read', () => {
      const volumes = [...pod.volumes, ...spec.volumeClaimTemplates.map((claim: any) => claim.metadata)]
      const mounted = container.volumeMounts.map(({ name }: any) => name)
      expect(new Set(mounted)).toEqual(new Set(volumes.map(({ name }: any) => name)))
      expect(pod.volumes.find(({ secret }: any) => secret).secret.defaultMode).toBe(0o440)
      expect(spec.serviceName).toBe(metadata.name)
      expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels)
    })
  })

  test('servers are asked whether they live and whether they are ready, agents whether they are answered', () => {
    const [server, agent] = sets.map(({ spec }) => spec.template.spec.containers[0])
    expect(server.livenessProbe.httpGet.path).toBe('/healthz')
    expect(server.readinessProbe.httpGet.path).toBe('/readyz')
    expect(agent.livenessProbe).toBeUndefined()
    expect(agent.readinessProbe.exec.command).toEqual(['node', '/opt/reprise/bin/healthcheck.mjs'])
  })

  /** An example of a value that comes from the cluster. */
  function example(name: string): string {
    return name === 'REPRISE_DATABASE_URL' ? 'postgresql://reprise@db.example.org/reprise' : '10.0.0.4'
  }

  /** The schemas let fields pass that they do not know, and the API server refuses: what no schema reads is misspelt. */
  function recordingReads<T>(value: T, path: string, read: Set<string>): T {
    if (typeof value !== 'object' || value === null) return value
    return new Proxy(value, {
      get(target, key) {
        const at = `${path}/${String(key)}`
        read.add(at)
        return recordingReads(Reflect.get(target, key), at, read)
      },
    })
  }

  /** The paths of all fields, down to the innermost ones. */
  function pathsIn(value: unknown, path: string): string[] {
    if (typeof value !== 'object' || value === null) return []
    return Object.entries(value).flatMap(([key, each]) => [`${path}/${key}`, ...pathsIn(each, `${path}/${key}`)])
  }
})

/** The units of systemd and the file of compose, as those programs read them. */
describe('examples of services', () => {
  const run = promisify(execFile)
  /** At most how exposed systemd finds each unit, from 0 to 10; programs of kernels inherit what the agent has. */
  const UNITS = [
    { unit: 'reprise.service', command: 'serve', exposureMax: 1.6 },
    { unit: 'reprise-agent.service', command: 'agent', exposureMax: 5.7 },
  ]

  const noSystemd = whyNotInstalled('systemd')
  const noCompose = whyNotInstalled('docker-compose')
  let directory: string

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'reprise-units-'))
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  describe.each(UNITS)('docs/operation/$unit', ({ unit, command, exposureMax }) => {
    const example = () => readFile(join(ROOT, 'docs/operation', unit), 'utf8')

    test('gives the program a valid configuration', async () => {
      const text = await example()
      const settings = [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!])
      expect(settings.length).toBeGreaterThan(2)
      expect(loadConfig(Object.fromEntries(settings)).warnings).toEqual([])
      expect(text).toContain(`\nExecStart=/usr/local/bin/reprise ${command}\n`)
      expect(text).toContain('\nRestartPreventExitStatus=78\n')
    })

    test.skipIf(noSystemd !== null)(`is understood by systemd, and closed enough ${noSystemd ?? ''}`, async () => {
      const file = join(directory, unit)
      // systemd looks whether the program is there.
      const program = join(ROOT, 'bin/reprise.mjs')
      await writeFile(file, (await example()).replace('/usr/local/bin/reprise', program))
      const analyze = findProgram('systemd-analyze')!
      const { stdout, stderr } = await run(analyze, ['verify', '--man=no', file])
      expect(stdout + stderr).not.toContain(unit)
      const threshold = String(Math.round(exposureMax * 10))
      await run(analyze, ['security', '--offline=yes', `--threshold=${threshold}`, '--no-pager', file])
    })
  })

  test.skipIf(noCompose !== null)(`docs/operation/compose.yaml is understood ${noCompose ?? ''}`, async () => {
    const { stdout } = await run(
      findProgram('docker-compose')!,
      ['--file', join(ROOT, 'docs/operation/compose.yaml'), 'config'],
      { env: { PATH: process.env['PATH'], HOME: directory, DATABASE_PASSWORD: 'secret', AGENT_TOKEN: 'token' } },
    )
    const { services, volumes } = parse(stdout)
    expect(Object.keys(services).toSorted()).toEqual(['agent', 'database', 'server'])
    expect(Object.keys(volumes)).toHaveLength(3)
    for (const { environment, ...running } of [services.server, services.agent]) {
      expect(loadConfig(environment).warnings).toEqual([])
      expect(running).toMatchObject({
        init: true,
        read_only: true,
        cap_drop: ['ALL'],
        stop_grace_period: expect.anything(),
      })
    }
    expect(services.server.environment.REPRISE_DATABASE_URL).toBe('postgresql://reprise:secret@database/reprise')
    expect(services.agent.command).toEqual(['agent'])
  })
})
