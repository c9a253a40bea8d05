package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const soon = 10 * time.Second

// kubelet is the other side of the protocol: it takes registrations on a socket of the plugin directory.
type kubelet struct {
	plugin.UnimplementedRegistrationServer
	requests chan *plugin.RegisterRequest
	server   *grpc.Server
}

func (k *kubelet) Register(_ context.Context, request *plugin.RegisterRequest) (*plugin.Empty, error) {
	k.requests <- request
	return &plugin.Empty{}, nil
}

func startKubelet(t *testing.T, directory string) *kubelet {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(directory, "kubelet.sock"))
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{requests: make(chan *plugin.RegisterRequest, 8), server: grpc.NewServer()}
	plugin.RegisterRegistrationServer(k.server, k)
	go func() { _ = k.server.Serve(listener) }()
	t.Cleanup(k.server.Stop)
	return k
}

func (k *kubelet) registration(t *testing.T) *plugin.RegisterRequest {
	t.Helper()
	select {
	case request := <-k.requests:
		return request
	case <-time.After(soon):
		t.Fatal("no registration")
		return nil
	}
}

func start(t *testing.T, directory string, arguments ...string) <-chan error {
	t.Helper()
	s, err := parse(append([]string{"-directory", directory, "-health-file", filepath.Join(directory, "unhealthy")}, arguments...),
		func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, s); close(ended) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return ended
}

func list(t *testing.T, directory, endpoint string) grpc.ServerStreamingClient[plugin.ListAndWatchResponse] {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+filepath.Join(directory, endpoint), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	stream, err := plugin.NewDevicePluginClient(connection).ListAndWatch(t.Context(), &plugin.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestRegistersAndListsItsDevices(t *testing.T) {
	directory := t.TempDir()
	k := startKubelet(t, directory)
	start(t, directory, "-devices", "2", "-resource", "example.com/card")
	request := k.registration(t)
	if request.ResourceName != "example.com/card" || request.Version != plugin.Version {
		t.Fatalf("registered %v", request)
	}
	answer, err := list(t, directory, request.Endpoint).Recv()
	if err != nil || len(answer.Devices) != 2 || answer.Devices[0].Health != plugin.Healthy {
		t.Fatalf("devices %v, %v", answer, err)
	}
}

func TestTellsWhenADeviceBecomesUnhealthy(t *testing.T) {
	directory := t.TempDir()
	k := startKubelet(t, directory)
	start(t, directory)
	stream := list(t, directory, k.registration(t).Endpoint)
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "unhealthy"), []byte("all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil || answer.Devices[0].Health != plugin.Unhealthy {
		t.Fatalf("devices %v, %v", answer, err)
	}
}

func TestAllocatesWhatIsAskedForAndSaysSimulated(t *testing.T) {
	answer, err := (&server{settings: &settings{}}).Allocate(t.Context(), &plugin.AllocateRequest{
		ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIds: []string{"a", "b"}}},
	})
	if err != nil || answer.ContainerResponses[0].Envs["NVIDIA_VISIBLE_DEVICES"] != "a,b" ||
		answer.ContainerResponses[0].Envs["EDGE_GPU"] != "SIMULATED" {
		t.Fatalf("%v, %v", answer, err)
	}
}

func TestRegistersAgainWithARestartedKubelet(t *testing.T) {
	directory := t.TempDir()
	first := startKubelet(t, directory)
	start(t, directory)
	first.registration(t)
	first.server.Stop() // removes its socket
	startKubelet(t, directory).registration(t)
}

func TestFailsWhenNoKubeletTakesTheRegistration(t *testing.T) {
	ended := start(t, t.TempDir(), "-patience", "1s")
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "took no registration of nvidia.com/gpu within 1s") {
			t.Fatalf("ended with %v", err)
		}
	case <-time.After(soon):
		t.Fatal("still trying")
	}
}

func TestBlindPluginRegistersNothingUntilItIsHealed(t *testing.T) {
	directory := t.TempDir()
	fault := filepath.Join(directory, "fault")
	if err := os.WriteFile(fault, []byte("no-devices\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := startKubelet(t, directory)
	start(t, directory, "-simulate-file", fault)
	select {
	case request := <-k.requests:
		t.Fatalf("registered %v", request)
	case <-time.After(4 * pollInterval):
	}
	if err := os.Remove(fault); err != nil {
		t.Fatal(err)
	}
	k.registration(t)
}

func TestFaultExitEndsIt(t *testing.T) {
	ended := start(t, t.TempDir(), "-simulate", "exit")
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "failed to initialize") {
		t.Fatalf("ended with %v", err)
	}
}

func TestRefusesSettingsThatMakeNoSense(t *testing.T) {
	for _, arguments := range [][]string{{"-devices", "-1"}, {"-devices", "2x"}, {"-devices", "1000"}, {"-patience", "soon"}} {
		if _, err := parse(arguments, func(string) string { return "" }); err == nil {
			t.Errorf("%v was taken", arguments)
		}
	}
}
