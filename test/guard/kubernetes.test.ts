import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { validate as statefulSet } from 'kubernetes-models/_schemas/IoK8sApiAppsV1StatefulSet'
import { validate as namespace } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Namespace'
import { validate as service } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service'
import { validate as disruptionBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/program/config.ts'
import { ROOT } from './source-files.ts'

/** docs/operation/kubernetes.yaml: what the API server would say of it, and what it would not. */

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

  test('have volumes for what they mount, and find secrets that they may read', () => {
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

/** Of what comes from the cluster. */
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

/** Of each field, as long as there is one below it. */
function pathsIn(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) => [`${path}/${key}`, ...pathsIn(each, `${path}/${key}`)])
}
